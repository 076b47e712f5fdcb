"""Reads request bodies: the whole of them, within a limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from collector.api.problem import Problem, ProblemError


def read_body(environ: Mapping[str, Any], media_type: str, limit: int) -> bytes:
    """Return the body of a WSGI request that says it is of a media type.

    The bytes are counted while they are read, for a server hands on what came before a connection broke as if it were
    all. What was announced is therefore asked for: WSGI does not show whether a chunked body came to its last chunk.

    Raises:
        ProblemError: 415 for another media type or an encoding, 411 for a body in chunks, 413 above the
            limit, 400 for a body cut short.

    """
    require_type(environ.get("CONTENT_TYPE", ""), environ.get("HTTP_CONTENT_ENCODING", ""), media_type)
    if "HTTP_TRANSFER_ENCODING" in environ:
        raise ProblemError(Problem.LENGTH_REQUIRED)
    announced = environ.get("CONTENT_LENGTH") or ""
    length = int(announced) if announced.isdecimal() else 0  # without either header there is no body
    if length > limit:
        raise too_large(limit)
    body = _read(environ["wsgi.input"], length)
    if len(body) != length:
        raise ProblemError(Problem.BODY_INCOMPLETE)
    return body


def require_type(content_type: str, content_encoding: str, media_type: str) -> None:
    """Refuse a body that its headers say to be of another media type, or encoded.

    Raises:
        ProblemError: 415.

    """
    if content_type.partition(";")[0].strip().lower() != media_type:
        raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send the body as {media_type}")
    if content_encoding.lower() not in ("", "identity"):
        raise ProblemError(Problem.UNSUPPORTED_ENCODING)


def too_large(limit: int) -> ProblemError:
    """Return what to say of a body above the limit."""
    return ProblemError(Problem.BODY_TOO_LARGE, f"send at most {limit} bytes; send it in parts")


def _read(stream: BinaryIO, most: int) -> bytes:
    """Read to the end or to ``most`` bytes: a single read may return less than there is."""
    body = stream.read(most)
    while len(body) < most and (part := stream.read(most - len(body))):
        body += part
    return body
