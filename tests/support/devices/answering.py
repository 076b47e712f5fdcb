"""An HTTP server whose answers a test chooses, to see what a client sends and how it reacts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer


class AnsweringServer(HTTPServer):
    """Gives every request the same answer, and keeps the requests.

    Attributes:
        status: of each answer.
        headers: of each answer, besides those that frame its body.
        body: of each answer.
        pieces: the chunks that replace the body, if there are any.
        ends: whether the last chunk is followed by the end.
        requests: path, headers and body of every request.

    """

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body = body
        self.pieces: tuple[bytes, ...] = ()
        self.ends = True
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: AnsweringServer

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.path, dict(self.headers), content))
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        if self.server.pieces:
            with contextlib.suppress(ConnectionError):
                self.send_pieces()
            return
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(self.server.body)

    def send_pieces(self) -> None:
        """Send the body in chunks, each in its own packet, and do not end it before the client has
        gone.
        """
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in self.server.pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if self.server.ends:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.rfile.read(1)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def answering_server(body: bytes) -> Iterator[AnsweringServer]:
    """Run a server within the context."""
    with AnsweringServer(body) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
