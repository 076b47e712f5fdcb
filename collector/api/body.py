"""Reads whole request bodies, up to a limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from collector.api.problem import Problem, ProblemError


def read_body(environ: Mapping[str, Any], media_type: str, limit: int) -> bytes:
    """Return the body of a WSGI request with a given media type.

    The bytes are compared with the announced length: if a connection breaks, a server passes on
    what came before as if it were everything. A length is required because WSGI does not show
    whether a chunked body reached its last chunk.

    Raises:
        ProblemError: 415 for another media type or an encoding, 411 for a chunked body, 413 above
            the limit, 400 for a body that was cut short.

    """
    require_type(environ.get("CONTENT_TYPE", ""), environ.get("HTTP_CONTENT_ENCODING", ""), media_type)
    if "HTTP_TRANSFER_ENCODING" in environ:
        raise ProblemError(Problem.LENGTH_REQUIRED)
    announced = environ.get("CONTENT_LENGTH") or ""
    # without either header there is no body
    length = int(announced) if announced.isdecimal() else 0
    if length > limit:
        raise too_large(limit)
    body = _read(environ["wsgi.input"], length)
    if len(body) != length:
        raise ProblemError(Problem.BODY_INCOMPLETE)
    return body


def require_type(content_type: str, content_encoding: str, media_type: str) -> None:
    """Refuse a body if its headers name another media type, or an encoding.

    Raises:
        ProblemError: 415.

    """
    if content_type.partition(";")[0].strip().lower() != media_type:
        raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send the body as {media_type}")
    if content_encoding.lower() not in ("", "identity"):
        raise ProblemError(Problem.UNSUPPORTED_ENCODING)


def too_large(limit: int) -> ProblemError:
    """Return the error for a body above the limit."""
    return ProblemError(Problem.BODY_TOO_LARGE, f"send at most {limit} bytes; send it in parts")


def _read(stream: BinaryIO, limit: int) -> bytes:
    """Read up to ``limit`` bytes: a single read may return less than there is."""
    body = stream.read(limit)
    while len(body) < limit and (part := stream.read(limit - len(body))):
        body += part
    return body
