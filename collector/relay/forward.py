"""How a batch travels from relay to collector. The only importer of requests in the collector."""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from client_sdk.protocol import HearsayError
from collector.api.batch import MAX_ANSWER_BYTES
from collector.api.operations import NDJSON
from collector.relay.deadline import Deadline

UPLOADS_PATH = "/v1/uploads"

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 10.0
"""Twice what the collector gives its store to answer; a device gives its relay half a minute altogether."""

DEADLINE_S = 14.0
"""For the whole exchange, connecting included: one that drips holds a forwarder little longer than none."""

_CHUNK_BYTES = 65_536

REFUSING_STATUSES = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""The key is wrong, or this is no collector: waiting does not help."""


class CollectorUnavailableError(HearsayError):
    """The collector did not answer a batch as agreed; sending the same uploads again is safe.

    Attributes:
        is_refusal: whether the collector will not take batches from this relay until somebody mends its settings.

    """

    def __init__(self, problem: str, *, is_refusal: bool = False) -> None:
        """Say what the collector did."""
        super().__init__(problem)
        self.is_refusal = is_refusal


class Forwarder:
    """Brings batches to a collector over HTTP; used by several threads, each with connections of its own."""

    def __init__(self, collector: str, key: str) -> None:
        """Take the collector's base URL and the relay key."""
        self._url = collector.rstrip("/") + UPLOADS_PATH
        self._headers = {
            "Accept": NDJSON,
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {key}",
            "Content-Type": NDJSON,
            "User-Agent": "hearsay-relay",
        }
        self._thread = threading.local()

    def post(self, body: bytes) -> bytes:
        """Deliver a batch once and return the body of the answer.

        Redirects are not followed (the uploads are for this collector), and no cookie is kept.

        Raises:
            CollectorUnavailableError: if there is no answer, or one that speaks of no upload.

        """
        session = self._session()
        try:
            with (
                session.deadline.kept(),
                session.post(
                    self._url,
                    data=body,
                    headers=self._headers,
                    auth=lambda request: request,  # the key alone: requests would look into ~/.netrc
                    timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
                    allow_redirects=False,
                    stream=True,
                ) as response,
            ):
                if response.status_code != HTTPStatus.OK:
                    raise _refused(response.status_code)
                return _read(response)
        except requests.RequestException as error:  # its text names addresses
            raise CollectorUnavailableError(f"it cannot be reached ({type(error).__name__})") from None
        except TimeoutError:
            raise CollectorUnavailableError(f"its answer was not whole after {DEADLINE_S:g} seconds") from None

    def _session(self) -> _Session:
        session: _Session | None = getattr(self._thread, "session", None)
        if session is None:
            session = self._thread.session = _Session()
        return session


class _Session(requests.Session):
    """The connections of one thread, without headers and cookies of its own, and with a deadline for each exchange."""

    def __init__(self) -> None:
        super().__init__()
        self.headers.clear()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.deadline = Deadline(DEADLINE_S)
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Adapter(self.deadline))


class _Adapter(HTTPAdapter):
    """Has a deadline watch every connection that is made."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        super().__init__()

    def get_connection_with_tls_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401 as in the base
        return self._deadline.watching(super().get_connection_with_tls_context(*args, **settings))


def _read(response: requests.Response) -> bytes:
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise CollectorUnavailableError("its answer has no end")
    return bytes(content)


def _refused(status: int) -> CollectorUnavailableError:
    if status in REFUSING_STATUSES:
        return CollectorUnavailableError(
            f"it answered with status {status}: is --to the base URL of a collector, and the relay key one of its own?",
            is_refusal=True,
        )
    return CollectorUnavailableError(f"it answered with status {status}")
