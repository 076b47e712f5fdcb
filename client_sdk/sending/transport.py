"""How an upload travels. The only importer of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from client_sdk.host import forks
from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way
from client_sdk.sending.retry import Reply

if TYPE_CHECKING:
    import requests

    from client_sdk.sending.deadline import Deadline

REPORTS_PATH = "/v1/reports"

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0
"""A collector writes to disk before it answers; beyond half a minute it is better to ask again."""

DEADLINE_S = 60.0
"""For the whole exchange: each byte of a reply could otherwise take the whole read timeout."""

MAX_REPLY_BYTES = 65_536
"""As large as an upload; a verdict on 256 refused reports is a quarter of it."""

_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "hearsay",
}
"""All there is but for an app's key, and the same on every device: versions and languages would tell devices apart."""


class Transport(Protocol):
    """Whatever can bring an upload to a collector."""

    def post(self, body: bytes) -> Reply | None:
        """Deliver the body of an upload once; return what came back, or none if nothing did."""


class HttpTransport:
    """Brings uploads to a collector over HTTP.

    Each upload has a connection of its own: a lasting one would link uploads, and a child process would share it.
    """

    def __init__(self, collector: str, upload_key: str | None = None, *, allow_plain_http: bool = False) -> None:
        """Take the collector's address, such as ``https://telemetry.example.com``, and the secret that it asks for.

        Raises:
            ValueError: if the address is no http or https URL, or one with a query, a fragment, blanks or a user name;
                if it is one without TLS to another machine, unless that is allowed; or if the secret is not of
                printable ASCII without blanks.

        """
        if not is_base_url(collector):  # not shown: it may hold a password
            raise ValueError(
                "collector must be a URL such as https://telemetry.example.com, without query, fragment, blanks or user"
            )
        if is_readable_on_the_way(collector) and not allow_plain_http:
            raise ValueError(
                "collector must be an https:// URL, unless it is on this machine: anybody on the way could read "
                "reports and upload_key, and answer in the collector's name; allow_plain_http=True allows that"
            )
        if upload_key is not None and not _is_token(upload_key):  # not shown: it is a secret
            raise ValueError("upload_key must be printable ASCII without blanks")
        self._url = collector.rstrip("/") + REPORTS_PATH
        self._headers = _HEADERS if upload_key is None else {**_HEADERS, "Authorization": f"Bearer {upload_key}"}

    def post(self, body: bytes) -> Reply | None:
        """Deliver the body of an upload once; return what came back, or none if nothing did.

        Redirects are not followed (reports and secret are for this collector), no cookie is kept, and no password of
        the machine's user is sent.
        """
        with forks.importing():
            import requests  # noqa: PLC0415 importing the SDK must stay quick

            from client_sdk.sending.deadline import Deadline  # noqa: PLC0415 as above
        deadline = Deadline(DEADLINE_S)
        try:
            with deadline.kept(), requests.Session() as session:
                session.headers.clear()
                _watch(session, deadline)
                with session.post(
                    self._url,
                    data=body,
                    headers=self._headers,
                    auth=lambda request: request,  # none at all: requests would look into ~/.netrc
                    timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
                    allow_redirects=False,
                    stream=True,
                ) as response:
                    return Reply(response.status_code, response.headers.get("Retry-After"), _read(response))
        except (requests.RequestException, TimeoutError):
            return None


def _watch(session: requests.Session, deadline: Deadline) -> None:
    """Have a deadline watch the connections that a session makes."""
    from requests.adapters import HTTPAdapter  # noqa: PLC0415 it is imported by now

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
            return deadline.watching(super().get_connection_with_tls_context(*args, **settings))

    for scheme in ("https://", "http://"):
        session.mount(scheme, Adapter())


def _read(response: requests.Response) -> bytes:
    """Return the body, or as much of it as is within the bound."""
    content = bytearray()
    for byte in response.iter_content(1):  # to ask for more is to wait for all of it
        content += byte
        if len(content) >= MAX_REPLY_BYTES:
            break
    return bytes(content[:MAX_REPLY_BYTES])


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
