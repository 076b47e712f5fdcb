"""A relay's requests to its collector. No other module in `collector` imports requests.

Every *exchange*, a request and its response, has a limit for its total time. The timeout of a
socket is not enough, because each byte starts the timeout again. The SDK implements the same limit
separately, because collector and SDK do not import each other.

With aiohttp, neither code for this limit nor threads would be needed. But aiohttp takes 60 ms more
to import, and needs 3 MiB more memory and seven more packages. aiohttp ignores the proxies and
certificate authorities in the environment. An upload takes about 190 us, and would take only 1 us
less with aiohttp.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from client_sdk.protocol.errors import HearsayError
from client_sdk.protocol.wire.base_url import proxies_to
from client_sdk.protocol.wire.failure import failure_of, failure_of_status
from collector.api.batch import MAX_ANSWER_BYTES
from collector.api.messages import JSON, NDJSON

UPLOADS_PATH = "/v1/uploads"
REGISTRY_PATH = "/v1/registry"

MAX_REGISTRY_BYTES = 4_194_304
"""The maximum size of a registry, in bytes. A registry with a thousand metrics needs far less."""

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 10.0
"""The maximum wait for the next byte of a response, in seconds.

A collector waits 5 seconds for its store. A device waits 30 seconds for the relay's response.
"""

DEADLINE_S = 14.0
"""How long a whole exchange may take, from connecting to the end of the response, in seconds."""

_CHUNK_BYTES = 65_536

REFUSING_STATUSES = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""Statuses that show that a retry is useless.

Either the relay key is wrong, or the server is not a collector.
"""


class CollectorUnavailableError(HearsayError):
    """The collector gave no valid response to a batch. A retry is safe.

    Attributes:
        is_refusal: whether the collector will refuse all batches of this relay until an operator
            corrects a setting.
    """

    def __init__(self, problem: str, *, is_refusal: bool = False) -> None:
        """Store a description of the problem with the collector's response."""
        super().__init__(problem)
        self.is_refusal = is_refusal


class Forwarder:
    """Sends requests to a collector over HTTP. Each thread has its own connections."""

    def __init__(self, collector: str, key: str) -> None:
        """Store the collector's base URL and the relay key."""
        self._collector = collector.rstrip("/")
        self._proxies = proxies_to(collector)
        self._key = key
        self._thread = threading.local()

    def post(self, body: bytes) -> bytes:
        """Send a batch once, and return the body of the response.

        Raises:
            CollectorUnavailableError: if there is no response, or its status is not 200.
        """
        headers = {"Accept": NDJSON, "Authorization": f"Bearer {self._key}", "Content-Type": NDJSON}
        return self._exchange("POST", UPLOADS_PATH, headers, body, MAX_ANSWER_BYTES)

    def get_registry(self) -> bytes:
        """Return the collector's registry. The key is not sent, because the registry is public.

        Raises:
            CollectorUnavailableError: if there is no response, or its status is not 200.
        """
        return self._exchange("GET", REGISTRY_PATH, {"Accept": JSON}, None, MAX_REGISTRY_BYTES)

    def _exchange(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, max_answer_bytes: int
    ) -> bytes:
        """Send a request once, and return the body of the response.

        The uploads are for this collector only. Therefore redirects are not followed, and a
        collector on this machine is reached without a proxy. Cookies are not stored.
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
        except requests.RequestException as error:  # the error's text contains addresses
            raise CollectorUnavailableError(failure_of(error).words()) from None
        except TimeoutError:
            raise CollectorUnavailableError(f"the answer was incomplete after {DEADLINE_S:g} seconds") from None

    def _session(self) -> _Session:
        session: _Session | None = getattr(self._thread, "session", None)
        if session is None:
            session = self._thread.session = _Session()
        return session


class _Session(requests.Session):
    """The connections of one thread, with a deadline, and without default headers or cookies."""

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
            raise CollectorUnavailableError("the answer is too long")
    return bytes(content)


def _refused(status: int) -> CollectorUnavailableError:
    words = failure_of_status(status).words(f"status {status}")
    return CollectorUnavailableError(words, is_refusal=status in REFUSING_STATUSES)


class ForwardDeadline:
    """Closes the connection of an exchange that takes too long.

    Use an object of this class for only one exchange at a time.
    """

    def __init__(self, limit_s: float) -> None:
        """Store the maximum number of seconds for an exchange."""
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_over = False

    @contextlib.contextmanager
    def enforced(self) -> Iterator[None]:
        """Limit the time of the exchange inside the ``with`` block.

        Raises:
            TimeoutError: if the exchange took too long, even if a response arrived. The response
                may be truncated and still look complete.
        """
        self._is_over = False
        timer = threading.Timer(self._limit_s, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # otherwise the timer might end the next exchange
            self._release()
            if self._is_over:
                raise TimeoutError

    def watching(self, pool: Any) -> Any:  # noqa: ANN401 a pool of urllib3's, which is not imported here
        """Apply this deadline to each connection that a pool uses from now on. Return the pool."""
        if "ConnectionCls" in vars(pool):  # prepared for an earlier exchange
            return pool
        watch = self._watch

        class Watched(type(pool).ConnectionCls):  # type: ignore[misc] # the class is an argument's
            def _new_conn(self) -> socket.socket:
                connection: socket.socket = super()._new_conn()
                watch(connection)
                return connection

            def request(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401 as in the base
                if self.sock is not None:  # still open from an earlier exchange
                    watch(self.sock)
                super().request(*args, **settings)

        pool.ConnectionCls = Watched
        return pool

    def _watch(self, connection: socket.socket) -> None:
        """Duplicate the descriptor of a connection, so that the deadline can close the connection.

        TLS takes over the original descriptor, and urllib3 may close the original early.
        """
        self._release()
        with self._lock:
            self._connection = socket.socket(fileno=os.dup(connection.fileno()))
        if self._is_over:
            self._cut()

    def _release(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _cut(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with contextlib.suppress(OSError):  # the connection may have ended already
                    self._connection.shutdown(socket.SHUT_RDWR)
