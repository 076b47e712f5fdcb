"""Reads request bodies: the whole of them, within a limit, in either framing."""

from __future__ import annotations

from http import HTTPStatus

from flask import Request

from collector.problem import ProblemError


def read_json_body(request: Request, limit: int) -> bytes:
    """Return the body of a request that says it is JSON.

    The bytes are counted while they are read. Some servers cut a chunked body at a limit and hand it on as if it were
    whole, and hand on what came before a connection broke; so neither a missing length nor a given one is believed.

    Raises:
        ProblemError: 415 for another media type or an encoding, 413 above the limit, 400 for a body cut short.

    """
    if request.mimetype != "application/json":
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "send the body as application/json"
        )
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", "send the body without a content encoding"
        )
    announced = request.content_length
    body = b"" if announced is not None and announced > limit else _read(request, limit + 1)
    if len(body) > limit or (announced is not None and announced > limit):
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", f"send at most {limit} bytes; split the upload"
        )
    if announced is not None and len(body) != announced:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "body_incomplete", "the body ended before its announced length")
    return body


def _read(request: Request, most: int) -> bytes:
    stream = request.environ["wsgi.input"]
    parts: list[bytes] = []
    left = most if request.content_length is None else min(most, request.content_length)
    while left:
        part = stream.read(left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
