"""The headers of every answer: nothing served here is a page, and no browser should take it for one; and our own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ALWAYS = [
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    # Of requests without CORS only: pages of an allowed origin send theirs with it.
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Server", "hearsay"),
]

NOT_KEPT = [*ALWAYS, ("Cache-Control", "no-store")]
"""For answers that say nothing of caches themselves."""


SNAPSHOT_TAKEN = "Hearsay-Snapshot"
"""Says when the look at open windows was taken, such as 2026-11-20T12:00:00Z."""


def utc_of(instant_s: int) -> str:
    """Return an instant in Unix seconds as text (RFC 3339)."""
    return f"{datetime.fromtimestamp(instant_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


def with_headers(application: WSGIApplication) -> WSGIApplication:
    """Return the application with those headers: added to a list once, which costs less than a call for each."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: object) -> object:
            kept = any(name == "Cache-Control" for name, _ in headers)
            return start_response(status, headers + (ALWAYS if kept else NOT_KEPT), *error)  # type: ignore[arg-type]

        return application(environ, start)  # type: ignore[arg-type]

    return answer
