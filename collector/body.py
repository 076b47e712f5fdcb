"""Reads request bodies: the whole of them, within a limit, in either framing."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, BinaryIO

from collector.problem import ProblemError


def read_json_body(environ: Mapping[str, Any], limit: int) -> bytes:
    """Return the body of a WSGI request that says it is JSON.

    The bytes are counted while they are read. Some servers cut a chunked body at a limit and hand it on as if it were
    whole, and hand on what came before a connection broke; so neither a missing length nor a given one is believed.

    Raises:
        ProblemError: 415 for another media type or an encoding, 413 above the limit, 400 for a body cut short.

    """
    media_type = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "send the body as application/json"
        )
    if environ.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", "send the body without a content encoding"
        )
    announced = environ.get("CONTENT_LENGTH") or ""
    length = int(announced) if announced.isdecimal() else None
    body = _read(environ["wsgi.input"], limit + 1 if length is None else min(length, limit + 1))
    if len(body) > limit:
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", f"send at most {limit} bytes; split the upload"
        )
    if length is not None and len(body) != length:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "body_incomplete", "the body ended before its announced length")
    return body


def _read(stream: BinaryIO, most: int) -> bytes:
    """Read to the end or to ``most`` bytes: a single read may return less than there is."""
    body = stream.read(most)
    while len(body) < most and (part := stream.read(most - len(body))):
        body += part
    return body
