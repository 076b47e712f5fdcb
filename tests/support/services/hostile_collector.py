"""A collector that tries to recognize devices.

It answers with everything that might leave a mark on a device, and records what comes back.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from client_sdk.protocol import Refusal, Upload, Verdict
from client_sdk.protocol.wire.reading import read_upload
from tests.support.services.listening import listening

TAG = "device-42"
"""The mark that the answers try to leave."""


def _answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _verdict(document: object) -> bytes:
    return _answer("200 OK", json.dumps(document).encode(), "Content-Type: application/json")


def _problem(status: int) -> bytes:
    return _answer(f"{status} Bad", json.dumps({"status": status, "code": TAG}).encode())


_ACCEPTED = Verdict(1).encode()

ANSWERS: dict[str, bytes] = {
    **{f"refusal {code}": _verdict({"accepted": 0, "refused": [{"index": 0, "code": code}]}) for code in Refusal},
    **{f"problem {status}": _problem(status) for status in (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)},
    **{
        f"redirect {status}": _answer(f"{status} Go", b"", f"Location: /v1/reports?{TAG}", f"Refresh: 0; url=/{TAG}")
        for status in (301, 302, 303, 307, 308)
    },
    **{
        f"retry after {text}": _answer("503 Later", b"", f"Retry-After: {text}")
        for text in ("0", "1", "2718", "9" * 400, "-1", "nan", "Sun, 22 Nov 2026 12:34:56 GMT", TAG)
    },
    "cookies": _answer("200 OK", _ACCEPTED, f"Set-Cookie: id={TAG}; Max-Age=99999999", f"Set-Cookie2: id={TAG}"),
    "validators": _answer("200 OK", _ACCEPTED, f'ETag: "{TAG}"', "Last-Modified: Sun, 22 Nov 2026 12:34:56 GMT"),
    "a service elsewhere": _answer("200 OK", _ACCEPTED, f'Alt-Svc: h2="{TAG}.invalid:443"; ma=99999999'),
    "policies": _answer("200 OK", _ACCEPTED, "Strict-Transport-Security: max-age=99999999", f"Report-To: {TAG}"),
    "hints": _answer("200 OK", _ACCEPTED, "Accept-CH: Device-Memory, UA-Model", "Critical-CH: UA-Model"),
    "a login": _answer("401 Who", b"", f'WWW-Authenticate: Basic realm="{TAG}"'),
    "a proxy's login": _answer("407 Who", b"", f'Proxy-Authenticate: Basic realm="{TAG}"'),
    "an upgrade": _answer("101 Switch", b"", "Upgrade: h2c", "Connection: Upgrade"),
    "many beginnings": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000 + _answer("200 OK", _ACCEPTED),
    "an early hint": f"HTTP/1.1 103 Hint\r\nLink: </{TAG}>; rel=preload\r\n\r\n".encode()
    + _answer("200 OK", _ACCEPTED),
    "a second answer": _answer("200 OK", _ACCEPTED, "Connection: keep-alive") * 2,
    "a lasting connection": _answer("200 OK", _ACCEPTED, "Connection: keep-alive", "Keep-Alive: timeout=999, max=999"),
    "a long header": _answer("200 OK", _ACCEPTED, f"X: {'x' * 1_000_000}"),
    "many headers": _answer("200 OK", _ACCEPTED, *(f"X-{number}: {TAG}" for number in range(10_000))),
    "a packed bomb": _answer("200 OK", gzip.compress(b"x" * 50_000_000), "Content-Encoding: gzip"),
    "a broken packing": _answer("200 OK", _ACCEPTED, "Content-Encoding: gzip"),
    "a body cut short": _answer("200 OK", _ACCEPTED)[:-5],
    "a head cut short": b"HTTP/1.1 200 OK\r\nContent-Le",
    "no head": b"hello",
    "nothing": b"",
    "a trailer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nSet-Cookie: id=%s\r\n\r\n"
    % (len(_ACCEPTED), _ACCEPTED, TAG.encode()),
    "a page": _answer("200 OK", b"<html>please log in</html>"),
    "a verdict on nobody": _verdict({"accepted": 0, "refused": [{"index": 7, "code": "unknown_edition"}]}),
    "a verdict before the first": _verdict({"accepted": 0, "refused": [{"index": -1, "code": "unknown_edition"}]}),
    "a verdict twice": _verdict({"accepted": -1, "refused": [{"index": 0, "code": "unknown_metric"}] * 2}),
    "a verdict of another kind": _verdict({"accepted": True, "refused": []}),
    "a verdict with a mark": _verdict({"accepted": 1, "refused": [], "device": TAG}),
    "a refusal of its own": _verdict({"accepted": 0, "refused": [{"index": 0, "code": TAG}]}),
}
"""Answers to an upload, by name. Afterwards the connection ends."""


@dataclass
class Exchange:
    """The data that came over a connection.

    Attributes:
        content: all bytes.
        is_resumed: whether the TLS session resumes an earlier one.

    """

    content: bytearray = field(default_factory=bytearray)
    is_resumed: bool = False

    @property
    def head(self) -> list[str]:
        """The first request's head, without the length of its body."""
        lines = self.content.partition(b"\r\n\r\n")[0].decode().split("\r\n")
        return [line for line in lines if not line.startswith("Content-Length: ")]

    @property
    def upload(self) -> Upload:
        """The upload of the first request. Raises if anything came after it."""
        return read_upload(bytes(self.content.partition(b"\r\n\r\n")[2]))


class HostileCollector:
    """Answers as a test says, and records each connection.

    Attributes:
        port: where it listens.
        answer: returns the answer to an upload.
        exchanges: what came, by connection.

    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        """Speak TLS if there is a context for it."""
        self.port = 0
        self.answer: Callable[[Upload], bytes] = counted
        self.exchanges: list[Exchange] = []
        self._context = context

    def talk(self, plain: socket.socket) -> None:
        """Answer the upload of a connection, and record what comes."""
        with contextlib.ExitStack() as stack:
            connection = plain
            if self._context is not None:
                connection = stack.enter_context(self._context.wrap_socket(plain, server_side=True))
            exchange = Exchange(is_resumed=bool(self._context and connection.session_reused))  # type: ignore[attr-defined]
            self.exchanges.append(exchange)
            self._receive(connection, exchange)
            connection.sendall(self.answer(exchange.upload))
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65_536):  # whatever else a device sends is recorded
                exchange.content += more

    def _receive(self, connection: socket.socket, exchange: Exchange) -> None:
        """Read a request: its head, and the bytes that it announces."""
        while b"\r\n\r\n" not in exchange.content:
            exchange.content += connection.recv(65_536) or _gone()
        head, _, body = exchange.content.partition(b"\r\n\r\n")
        length = next(int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
        for _ in range(length - len(body)):
            if len(exchange.content) >= len(head) + 4 + length:
                break
            exchange.content += connection.recv(65_536) or _gone()


def counted(upload: Upload) -> bytes:
    """Answer as an honest collector."""
    return _answer("200 OK", Verdict(len(upload.reports)).encode())


def refusing(upload: Upload, metric: str) -> bytes:
    """Answer like a collector that counts all reports except those of one unknown metric."""
    reports = enumerate(upload.reports)
    refused = tuple((index, Refusal.UNKNOWN_EDITION) for index, report in reports if report.metric == metric)
    return _answer("200 OK", Verdict(len(upload.reports), refused).encode())


def _gone() -> bytes:
    raise ConnectionError


@contextlib.contextmanager
def hostile_collector(context: ssl.SSLContext | None = None) -> Iterator[HostileCollector]:
    """Run a hostile collector while the context is entered."""
    collector = HostileCollector(context)
    with listening(collector.talk) as collector.port:
        yield collector
