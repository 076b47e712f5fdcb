"""The headers of every response, and our own.

Nothing served here is a page, and no browser should take it for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ALWAYS = [
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    # It applies to requests without CORS only; pages of an allowed origin use CORS.
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Server", "hearsay"),
]

NOT_CACHED = [*ALWAYS, ("Cache-Control", "no-store")]
"""For responses that have no Cache-Control of their own."""

SNAPSHOT_TAKEN = "Hearsay-Snapshot"
"""When the look at open windows was taken, such as 2026-11-20T12:00:00Z."""


def utc_of(instant_s: int) -> str:
    """Return an instant in Unix seconds as text (RFC 3339)."""
    return f"{datetime.fromtimestamp(instant_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


def with_headers(
    application: WSGIApplication, further: Callable[[WSGIEnvironment], list[tuple[str, str]]] = lambda _: []
) -> WSGIApplication:
    """Return the application with these headers.

    Extending the list once costs less than one call for each header.

    Args:
        application: answers requests.
        further: returns other headers of the response to a request.

    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: object) -> object:
            has_own = any(name == "Cache-Control" for name, _ in headers)
            return start_response(status, [*headers, *(ALWAYS if has_own else NOT_CACHED), *further(environ)], *error)  # type: ignore[arg-type]

        return application(environ, start)  # type: ignore[arg-type]

    return answer
