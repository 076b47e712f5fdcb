"""Delivers uploads to the collector. No other module imports the library ``requests``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from client_sdk.host import forks
from client_sdk.protocol.wire.base_url import check_address, proxies_to
from client_sdk.sending.timing import CONNECT_TIMEOUT_S, DEADLINE_S, READ_TIMEOUT_S

if TYPE_CHECKING:
    import requests

    from client_sdk.protocol.wire.failure import Failure
    from client_sdk.sending.deadline import ExchangeDeadline
    from client_sdk.sending.responses import Reply

REPORTS_PATH = "/v1/reports"

MAX_REPLY_BYTES = 65_536
"""The maximum number of bytes that are read of a response. A verdict on 256 refused reports needs a
quarter of this size."""

_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "hearsay",
}
"""All headers except the upload key. The headers are the same on every device, because versions or
languages would distinguish devices."""


class Transport(Protocol):
    """An object that can deliver an upload to a collector."""

    def post(self, body: bytes) -> Reply | Failure | None:
        """Deliver an upload once; return the response or, if known, the reason for its absence."""


class HttpTransport:
    """Delivers uploads to a collector over HTTP.

    Each upload uses a new connection. A shared connection would show that uploads come from one
    device, and child processes would inherit the connection.
    """

    def __init__(self, collector: str, upload_key: str | None = None, *, allow_plain_http: bool = False) -> None:
        """Store the key and the collector's address, such as ``https://telemetry.example.com``."""
        check_address(collector, upload_key, allow_plain_http=allow_plain_http)
        self._url = collector.rstrip("/") + REPORTS_PATH
        self._proxies = proxies_to(collector)
        self._headers = _HEADERS if upload_key is None else {**_HEADERS, "Authorization": f"Bearer {upload_key}"}

    def post(self, body: bytes) -> Reply | Failure:
        """Deliver the body of an upload once; return the response, or the reason for its absence.

        Redirects are not followed, because only this collector may get the reports and the key. For
        the same reason, a collector on this machine is reached without a proxy. Cookies are not
        stored, and no password of the machine's user is sent.
        """
        with forks.importing():
            import requests  # noqa: PLC0415 importing the SDK must stay quick

            from client_sdk.protocol.wire.failure import Failure, failure_of  # noqa: PLC0415 1 ms
            from client_sdk.protocol.wire.verdict import STOPPED  # noqa: PLC0415 2 ms
            from client_sdk.sending.deadline import ExchangeDeadline  # noqa: PLC0415 3 ms
            from client_sdk.sending.responses import Reply  # noqa: PLC0415 4 ms
        deadline = ExchangeDeadline(DEADLINE_S)
        try:
            with deadline.kept(), requests.Session() as session:
                session.headers.clear()
                _watch(session, deadline)
                with session.post(
                    self._url,
                    data=body,
                    headers=self._headers,
                    auth=lambda request: request,  # no password: otherwise requests reads ~/.netrc
                    timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
                    allow_redirects=False,
                    proxies=self._proxies,
                    stream=True,
                ) as response:
                    retry_after, stopped = map(response.headers.get, ("Retry-After", STOPPED))
                    has_key = "Authorization" in self._headers
                    return Reply(response.status_code, retry_after, _read(response), stopped, has_key)
        except TimeoutError:  # the deadline has cut the connection; the error that this caused is replaced
            return Failure.TIMEOUT
        except requests.RequestException as error:
            return failure_of(error)


def _watch(session: requests.Session, deadline: ExchangeDeadline) -> None:
    """Shut down a session's connections when a deadline has passed."""
    from requests.adapters import HTTPAdapter  # noqa: PLC0415 already imported

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
            return deadline.watching(super().get_connection_with_tls_context(*args, **settings))

    for scheme in ("https://", "http://"):
        session.mount(scheme, Adapter())


def _read(response: requests.Response) -> bytes:
    content = bytearray()
    for byte in response.iter_content(1):  # reading larger pieces would wait until they are complete
        content += byte
        if len(content) >= MAX_REPLY_BYTES:
            break
    return bytes(content[:MAX_REPLY_BYTES])
