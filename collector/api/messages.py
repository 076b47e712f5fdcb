"""HTTP messages: operations, request bodies and response headers.

`openapi.json` describes every operation. An operation's operationId is the name of its handler in
`collector.routes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from collector.api.problem import Problem, ProblemError

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
TEXT: Final = "text/plain"

DOCUMENT: Final = files(__package__).joinpath("openapi.json").read_bytes()
"""The OpenAPI 3.1 document, as the collector serves it."""


class Operation(NamedTuple):
    """An operation of the API: the name of its handler, an HTTP method and a path."""

    name: str
    method: str
    path: str


OPERATIONS: Final = tuple(
    Operation(described["operationId"], method.upper(), path)
    for path, methods in json.loads(DOCUMENT)["paths"].items()
    for method, described in methods.items()
)


if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def read_body(environ: Mapping[str, Any], media_type: str, limit: int) -> bytes:
    """Return the body of a WSGI request. The body may have at most ``limit`` bytes.

    The number of bytes must match the Content-Length, because a WSGI server passes on a truncated
    body as if it were complete. Chunked bodies are refused: WSGI does not tell whether the last
    chunk has arrived.

    Raises:
        ProblemError: 415 for a content encoding or the wrong media type, 411 for a chunked body,
            413 for a body above the limit, 400 for a truncated body.
    """
    require_type(environ.get("CONTENT_TYPE", ""), environ.get("HTTP_CONTENT_ENCODING", ""), media_type)
    if "HTTP_TRANSFER_ENCODING" in environ:
        raise ProblemError(Problem.LENGTH_REQUIRED)
    announced = environ.get("CONTENT_LENGTH") or ""
    # without either header, there is no body
    length = int(announced) if announced.isdecimal() else 0
    if length > limit:
        raise too_large(limit)
    body = _read(environ["wsgi.input"], length)
    if len(body) != length:
        raise ProblemError(Problem.BODY_INCOMPLETE)
    return body


def require_type(content_type: str, content_encoding: str, media_type: str) -> None:
    """Refuse a body with a content encoding or the wrong media type.

    Raises:
        ProblemError: 415 if the body is refused.
    """
    if content_type.partition(";")[0].strip().lower() != media_type:
        raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send the body as {media_type}")
    if content_encoding.lower() not in ("", "identity"):
        raise ProblemError(Problem.UNSUPPORTED_ENCODING)


def too_large(limit: int) -> ProblemError:
    """Return the error for a body of more than ``limit`` bytes."""
    return ProblemError(Problem.BODY_TOO_LARGE, f"send at most {limit} bytes; split the body")


def _read(stream: BinaryIO, limit: int) -> bytes:
    """Read up to ``limit`` bytes. One read of the stream may return fewer bytes."""
    body = stream.read(limit)
    while len(body) < limit and (part := stream.read(limit - len(body))):
        body += part
    return body


ALWAYS = [
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    # This header applies only to requests without CORS; pages of an allowed origin use CORS.
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Server", "hearsay"),
]

NOT_CACHED = [*ALWAYS, ("Cache-Control", "no-store")]
"""The headers of responses that do not set Cache-Control themselves."""

SNAPSHOT_TAKEN = "Hearsay-Snapshot"
"""The response header that says when the returned tallies of open windows were read."""


def utc_of(instant_s: int) -> str:
    """Return a time in Unix seconds as text, such as 2026-11-20T12:00:00Z (RFC 3339)."""
    return f"{datetime.fromtimestamp(instant_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


def with_headers(
    application: WSGIApplication, further: Callable[[WSGIEnvironment], list[tuple[str, str]]] = lambda _: []
) -> WSGIApplication:
    """Return a WSGI application that adds headers to each response of another application.

    If a response already has the header Cache-Control, ALWAYS is added, and otherwise NOT_CACHED.
    ``further`` returns additional headers for the response to a request.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: object) -> object:
            has_own = any(name == "Cache-Control" for name, _ in headers)
            return start_response(status, [*headers, *(ALWAYS if has_own else NOT_CACHED), *further(environ)], *error)  # type: ignore[arg-type]

        return application(environ, start)  # type: ignore[arg-type]

    return answer
