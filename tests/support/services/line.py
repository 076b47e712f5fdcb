"""A TCP proxy that cuts each connection after so many bytes, and can hold everything that passes."""

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
"""Linger for no time: the other end sees a reset, not an orderly end."""


class Towards(Enum):
    """Which way bytes go."""

    SERVER = auto()
    CLIENT = auto()


class Cut(NamedTuple):
    """Where a connection is cut: after so many bytes of one direction."""

    towards: Towards
    after_bytes: int


class Line:
    """A proxy before a server.

    Attributes:
        port: where it listens.
        cuts_made: how many connections it has cut.

    """

    def __init__(self, target: str | tuple[str, int]) -> None:
        """Listen before a target, the path of a Unix socket or an address."""
        self._target = target
        self._cuts: Iterator[Cut | None] = itertools.repeat(None)
        self._flows = threading.Event()
        self._flows.set()
        self._sockets: list[socket.socket] = []
        self.cuts_made = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self, cuts: Iterable[Cut | None]) -> None:
        """End the connections that there are, and cut those to come, each in its turn."""
        self._cuts = itertools.cycle(cuts)
        self._end_all()

    def cut_none(self) -> None:
        """Leave connections to come as they are, and end the others."""
        self.cut_all([None])

    def lead_to(self, target: str | tuple[str, int]) -> None:
        """End the connections that there are, and lead those to come to another target."""
        self._target = target
        self._end_all()

    def hold(self) -> None:
        """Pass nothing on until it is released."""
        self._flows.clear()

    def release(self) -> None:
        """Pass on what is held, and all that comes."""
        self._flows.set()

    def close(self) -> None:
        """End every connection, and take no more."""
        self._listener.close()
        self.release()
        self._end_all()

    def _end_all(self) -> None:
        for one in self._sockets:
            _reset(one)
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
        """Pass bytes on until either end is gone, or no more are left to be passed."""
        with contextlib.suppress(OSError):
            while chunk := source.recv(CHUNK_BYTES):
                self._flows.wait()
                sink.sendall(chunk if left is None else chunk[:left])
                if left is not None:
                    left -= len(chunk)
                    if left <= 0:
                        self.cuts_made += 1
                        break
        for one in (source, sink):
            _reset(one)


def _connected(target: str | tuple[str, int]) -> socket.socket:
    if isinstance(target, tuple):
        return socket.create_connection(target)
    server = socket.socket(socket.AF_UNIX)
    server.connect(target)
    return server


def _reset(one: socket.socket) -> None:
    """Close a connection at once, in whatever thread it is waited for."""
    with contextlib.suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextlib.contextmanager
def running_line(target: str | tuple[str, int]) -> Iterator[Line]:
    """Run a proxy until the context ends."""
    line = Line(target)
    try:
        yield line
    finally:
        line.close()
