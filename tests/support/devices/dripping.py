"""A server that never ends its answer: it sends byte by byte until the client has gone."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator

from tests.support.services.listening import listening

DRIP_S = 0.01

BEGINNINGS = {
    "handshake": b"\x16\x03\x03\x40\x00",
    "head": b"HTTP/1.1 200 OK\r\nDrip: ",
    "body": b"HTTP/1.1 200 OK\r\n\r\n",
}
"""The parts sent at once, by the part that follows byte by byte."""


class DrippingServer:
    """Answers one connection after another, byte by byte.

    Attributes:
        port: where it listens.
        gone: how many connections have ended.

    """

    def __init__(self, beginning: bytes) -> None:
        self.port = self.gone = 0
        self._beginning = beginning
        self._ended = threading.Event()

    def end(self) -> None:
        """Drip no more."""
        self._ended.set()

    def drip(self, connection: socket.socket) -> None:
        """Answer a connection until its client has gone."""
        try:
            connection.recv(65_536)
            for piece in itertools.chain([self._beginning], itertools.repeat(b"x")):
                connection.sendall(piece)
                if self._ended.wait(DRIP_S):
                    return
        finally:
            self.gone += 1


@contextlib.contextmanager
def dripping_server(beginning: bytes) -> Iterator[DrippingServer]:
    """Run a server within the context."""
    server = DrippingServer(beginning)
    with listening(server.drip) as server.port:
        try:
            yield server
        finally:
            server.end()
