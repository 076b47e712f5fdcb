"""How an upload travels. The only importer of requests."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from client_sdk.outcome import Reply

REPORTS_PATH = "/v1/reports"

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0
"""A collector writes to disk before it answers; beyond half a minute it is better to ask again."""

MAX_REPLY_BYTES = 65_536
"""As large as an upload; a verdict on 256 refused reports is a quarter of it."""

_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "hearsay",
}
"""All there is, and the same on every device: versions and languages would tell devices apart."""


class Transport(Protocol):
    """Whatever can bring an upload to a collector."""

    def post(self, body: bytes) -> Reply | None:
        """Deliver the body of an upload once; return what came back, or none if nothing did."""


class HttpTransport:
    """Brings uploads to a collector over HTTP.

    Each upload has a connection of its own: a lasting one would link uploads, and a child process would share it.
    """

    def __init__(self, collector: str) -> None:
        """Take the collector's address, such as ``https://telemetry.example.com``.

        Raises:
            ValueError: if it is no http or https URL.

        """
        parts = urlsplit(collector)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ValueError(f"collector must be a URL such as https://telemetry.example.com, not {collector!r}")
        self._url = collector.rstrip("/") + REPORTS_PATH

    def post(self, body: bytes) -> Reply | None:
        """Deliver the body of an upload once; return what came back, or none if nothing did.

        Redirects are not followed (the reports are for this collector), no cookie is kept, no password is sent.
        """
        import requests  # noqa: PLC0415 importing the SDK must stay quick

        try:
            with requests.Session() as session:
                session.headers.clear()
                with session.post(
                    self._url,
                    data=body,
                    headers=_HEADERS,
                    auth=lambda request: request,  # none at all: requests would look into ~/.netrc
                    timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
                    allow_redirects=False,
                    stream=True,
                ) as response:
                    content = next(response.iter_content(MAX_REPLY_BYTES), b"")
                    return Reply(response.status_code, response.headers.get("Retry-After"), content)
        except requests.RequestException:
            return None
