"""A TCP proxy that cuts connections after a number of bytes, and can hold all traffic."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

CHUNK_BYTES = 65_536

RESET = struct.pack("ii", 1, 0)
"""Linger for no time, so that the other end sees a reset, not an orderly end."""


class Towards(Enum):
    """The direction of bytes."""

    SERVER = auto()
    CLIENT = auto()


class Cut(NamedTuple):
    """Where a connection is cut: after a number of bytes in one direction."""

    towards: Towards
    after_bytes: int


class CuttingProxy:
    """A proxy in front of a server.

    Attributes:
        port: the port on which it listens.
        cuts: the number of connections that it has cut.

    """

    def __init__(self, target: str | tuple[str, int]) -> None:
        """Listen in front of a target: the path of a Unix socket, or an address."""
        self._target = target
        self._cuts: Iterator[Cut | None] = itertools.repeat(None)
        self._flows = threading.Event()
        self._flows.set()
        self._sockets: list[socket.socket] = []
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self, cuts: Iterable[Cut | None]) -> None:
        """End the present connections, and apply the cuts to later ones in turn."""
        self._cuts = itertools.cycle(cuts)
        self._end_all()

    def cut_none(self) -> None:
        """End the present connections, and cut none of the later ones."""
        self.cut_all([None])

    def lead_to(self, target: str | tuple[str, int]) -> None:
        """End the present connections, and lead later ones to another target."""
        self._target = target
        self._end_all()

    def hold(self) -> None:
        """Pass nothing on until `release`."""
        self._flows.clear()

    def release(self) -> None:
        """Pass on the held traffic, and everything that follows."""
        self._flows.set()

    def close(self) -> None:
        """End every connection, and accept no more."""
        self._listener.close()
        self.release()
        self._end_all()

    def _end_all(self) -> None:
        for connection in self._sockets:
            _reset(connection)
        self._sockets = []

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._join(client, next(self._cuts))

    def _join(self, client: socket.socket, cut: Cut | None) -> None:
        try:
            server = _connected(self._target)
        except OSError:
            _reset(client)
            return
        self._sockets += [client, server]
        for towards, source, sink in ((Towards.SERVER, client, server), (Towards.CLIENT, server, client)):
            left = cut.after_bytes if cut is not None and cut.towards is towards else None
            threading.Thread(target=self._pass_on, args=(source, sink, left), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, left: int | None) -> None:
        """Pass bytes on until either end has gone, or ``left`` bytes have been passed."""
        with contextlib.suppress(OSError):
            while chunk := source.recv(CHUNK_BYTES):
                self._flows.wait()
                sink.sendall(chunk if left is None else chunk[:left])
                if left is not None:
                    left -= len(chunk)
                    if left <= 0:
                        self.cuts += 1
                        break
        for connection in (source, sink):
            _reset(connection)


def _connected(target: str | tuple[str, int]) -> socket.socket:
    if isinstance(target, tuple):
        return socket.create_connection(target)
    server = socket.socket(socket.AF_UNIX)
    server.connect(target)
    return server


def _reset(connection: socket.socket) -> None:
    """Close a connection at once, even if other threads wait for it."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextlib.contextmanager
def running_line(target: str | tuple[str, int]) -> Iterator[CuttingProxy]:
    """Run a proxy until the context ends."""
    line = CuttingProxy(target)
    try:
        yield line
    finally:
        line.close()
