"""Speaks HTTP by hand, so that a test controls every byte of framing."""

from __future__ import annotations

import http.client
import json
import socket
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from client_sdk.protocol import Upload
from tests.support.services.processes import READ_TOKEN

ANSWER_TIMEOUT_S = 30.0


def raw_answer(url: str, request: bytes, *, half_close: bool = False) -> tuple[int, bytes]:
    """Send bytes, and return status and body of the answer; status 0 if there is none."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), ANSWER_TIMEOUT_S) as connection:
        connection.sendall(request)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
            return answer.status, answer.read()
        except (http.client.HTTPException, ConnectionError):
            return 0, b""


def with_length(body: bytes, announced: int | None = None) -> bytes:
    """Return a POST of an upload with a Content-Length."""
    return _head(f"Content-Length: {len(body) if announced is None else announced}") + body


def chunked(body: bytes, *, chunk: int = 4096, ended: bool = True) -> bytes:
    """Return a POST of an upload in chunks."""
    pieces = [body[start : start + chunk] for start in range(0, len(body), chunk)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return _head("Transfer-Encoding: chunked") + framed + (b"0\r\n\r\n" if ended else b"")


def post(url: str, upload: Upload, timeout_s: float = ANSWER_TIMEOUT_S) -> tuple[int, Any]:
    """Post an upload, and return status and document; status 0 if the connection failed."""
    request = urllib.request.Request(  # noqa: S310 a test's own collector
        f"{url}/v1/reports", upload.encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310 as above
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"null")
    except (OSError, http.client.HTTPException):
        return 0, None


def tallies(url: str, query: str = "", token: str = READ_TOKEN) -> list[dict[str, Any]]:
    """Return the collector's tallies."""
    request = urllib.request.Request(  # noqa: S310 a test's own collector
        f"{url}/v1/tallies{query}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as answer:  # noqa: S310 as above
        return [json.loads(line) for line in answer.read().splitlines()]


def _head(framing: str) -> bytes:
    lines = ("POST /v1/reports HTTP/1.1", "Host: test", "Content-Type: application/json", framing, "", "")
    return "\r\n".join(lines).encode()
