"""A relay's exchanges with its collector. The only module of the collector that imports requests.

aiohttp would need neither threads nor `deadline`, about 115 lines fewer. A batch of 900 uploads
took a relay 0.28 ms of processor time with it, and 1.15 ms with requests (medians of three runs of
nine rounds each): 1 us an upload, of about 190. But it takes 60 ms more to import, 3 MiB more
memory and seven more packages, and a relay would no longer trust the authorities, nor use the
proxies, that requests takes from its environment.
"""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from client_sdk.protocol.errors import HearsayError
from client_sdk.protocol.wire.base_url import proxies_to
from client_sdk.protocol.wire.failure import failure_of, failure_of_status
from collector.api.batch import MAX_ANSWER_BYTES
from collector.api.operations import JSON, NDJSON
from collector.relay.deadline import ForwardDeadline

UPLOADS_PATH = "/v1/uploads"
REGISTRY_PATH = "/v1/registry"

MAX_REGISTRY_BYTES = 4_194_304
"""Far more than a registry of a thousand questions takes."""

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 10.0
"""Twice the time in which the store must answer the collector.

A device waits half a minute altogether.
"""

DEADLINE_S = 14.0
"""For the whole exchange, including connecting.

A dripping answer occupies a forwarder little longer than no answer.
"""

_CHUNK_BYTES = 65_536

REFUSING_STATUSES = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""The key is wrong, or the server is no collector: waiting does not help."""


class CollectorUnavailableError(HearsayError):
    """The collector gave no valid answer to a batch; sending the same uploads again is safe.

    Attributes:
        is_refusal: whether the collector refuses all batches of this relay until its settings are
            mended.

    """

    def __init__(self, problem: str, *, is_refusal: bool = False) -> None:
        """Say what the collector did."""
        super().__init__(problem)
        self.is_refusal = is_refusal


class Forwarder:
    """Sends requests to a collector over HTTP. Each thread that uses it has its own connections."""

    def __init__(self, collector: str, key: str) -> None:
        """Take the collector's base URL and the relay key."""
        self._collector = collector.rstrip("/")
        self._proxies = proxies_to(collector)
        self._key = key
        self._thread = threading.local()

    def post(self, body: bytes) -> bytes:
        """Send a batch once and return the body of the answer. Nothing else of it is read.

        Raises:
            CollectorUnavailableError: if there is no answer, or its status is not 200.

        """
        headers = {"Accept": NDJSON, "Authorization": f"Bearer {self._key}", "Content-Type": NDJSON}
        return self._exchange("POST", UPLOADS_PATH, headers, body, MAX_ANSWER_BYTES)

    def get_registry(self) -> bytes:
        """Return the collector's registry, which everybody may read: the key is not sent.

        Raises:
            CollectorUnavailableError: if there is no answer, or its status is not 200.

        """
        return self._exchange("GET", REGISTRY_PATH, {"Accept": JSON}, None, MAX_REGISTRY_BYTES)

    def _exchange(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, max_answer_bytes: int
    ) -> bytes:
        """Send a request once and return the body of the answer.

        Redirects are not followed, because the uploads are for this collector. For the same reason,
        a collector on this machine is reached without a proxy. No cookie is kept.
        """
        session = self._session()
        try:
            with (
                session.deadline.enforced(),
                session.request(
                    method,
                    self._collector + path,
                    data=body,
                    headers={"Accept-Encoding": "identity", "User-Agent": "hearsay-relay"} | headers,
                    auth=lambda request: request,  # otherwise requests would look into ~/.netrc
                    timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
                    allow_redirects=False,
                    proxies=self._proxies,
                    stream=True,
                ) as response,
            ):
                if response.status_code != HTTPStatus.OK:
                    raise _refused(response.status_code)
                return _read(response, max_answer_bytes)
        except requests.RequestException as error:  # its text names addresses
            raise CollectorUnavailableError(failure_of(error).words()) from None
        except TimeoutError:
            raise CollectorUnavailableError(f"its answer was not whole after {DEADLINE_S:g} seconds") from None

    def _session(self) -> _Session:
        session: _Session | None = getattr(self._thread, "session", None)
        if session is None:
            session = self._thread.session = _Session()
        return session


class _Session(requests.Session):
    """The connections of one thread: no default headers, no cookies, a deadline per exchange."""

    def __init__(self) -> None:
        super().__init__()
        self.headers.clear()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.deadline = ForwardDeadline(DEADLINE_S)
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Adapter(self.deadline))


class _Adapter(HTTPAdapter):
    """Applies a deadline to every new connection."""

    def __init__(self, deadline: ForwardDeadline) -> None:
        self._deadline = deadline
        super().__init__()

    def get_connection_with_tls_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
        return self._deadline.watching(super().get_connection_with_tls_context(*args, **settings))


def _read(response: requests.Response, max_bytes: int) -> bytes:
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        if len(content) > max_bytes:
            raise CollectorUnavailableError("its answer has no end")
    return bytes(content)


def _refused(status: int) -> CollectorUnavailableError:
    words = failure_of_status(status).words(f"status {status}")
    return CollectorUnavailableError(words, is_refusal=status in REFUSING_STATUSES)
