"""A collector whose answer never ends: it sends pieces as long as somebody listens."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator

EndlessAnswer = Callable[[], Iterable[bytes]]


class _Server:
    """Answers one connection after another, and never finishes by itself."""

    def __init__(self, answer: EndlessAnswer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(65_536)
                    for piece in self._answer():
                        connection.sendall(piece)


@contextlib.contextmanager
def endless_server(answer: EndlessAnswer) -> Iterator[str]:
    """Run a server while the context is entered, and yield its URL."""
    server = _Server(answer)
    try:
        yield server.url
    finally:
        server.close()
