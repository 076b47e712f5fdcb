"""A server that never ends its answer: it sends byte by byte until the client has gone."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator

DRIP_S = 0.01

BEGINNINGS = {
    "handshake": b"\x16\x03\x03\x40\x00",
    "head": b"HTTP/1.1 200 OK\r\nDrip: ",
    "body": b"HTTP/1.1 200 OK\r\n\r\n",
}
"""What is sent at once, by what is sent byte by byte after it."""


class DrippingServer:
    """Answers one connection after another, byte by byte.

    Attributes:
        port: where it listens.
        gone: how many connections have ended.

    """

    def __init__(self, beginning: bytes) -> None:
        """Listen."""
        self._beginning = beginning
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.gone = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    self._drip(connection)
                self.gone += 1

    def _drip(self, connection: socket.socket) -> None:
        connection.recv(65_536)
        for piece in itertools.chain([self._beginning], itertools.repeat(b"x")):
            connection.sendall(piece)
            if self._ended.wait(DRIP_S):
                return


@contextlib.contextmanager
def dripping_server(beginning: bytes) -> Iterator[DrippingServer]:
    """Run a server within the context."""
    server = DrippingServer(beginning)
    try:
        yield server
    finally:
        server.close()
