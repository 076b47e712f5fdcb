"""A collector whose answer never ends: it sends pieces as long as somebody listens."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator

from tests.support.services.listening import listening

EndlessAnswer = Callable[[], Iterable[bytes]]


@contextlib.contextmanager
def endless_server(answer: EndlessAnswer) -> Iterator[str]:
    """Run a server while the context is entered, and yield its URL."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65_536)
        for piece in answer():
            connection.sendall(piece)

    with listening(talk) as port:
        yield f"http://127.0.0.1:{port}"
