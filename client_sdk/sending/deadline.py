"""How long an exchange over HTTP may take altogether.

A socket's own timeout begins anew with every byte that comes, so that an answer which drips would never end.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any


class Deadline:
    """Cuts the connection of an exchange that takes too long. For one exchange on one connection."""

    def __init__(self, limit_s: float) -> None:
        """Take how many seconds an exchange may last."""
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_over = False

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Hold the exchange that the context is to its time.

        Where no thread is to be had it has the socket's own limits only. Python 3.12 starts none once the main thread
        has ended, as in a program that asks for a flush at its exit, or whose other threads go on.

        Raises:
            TimeoutError: if it took longer, whatever else came of it: an answer that was cut short may look whole.

        """
        timer = threading.Timer(self._limit_s, self._cut)
        timer.daemon = True
        with contextlib.suppress(RuntimeError):
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            if timer.ident is not None:
                timer.join()
            if self._connection is not None:
                self._connection.close()
            if self._is_over:
                raise TimeoutError

    def watching(self, pool: Any) -> Any:  # noqa: ANN401 a pool of urllib3's, which is not imported here
        """Return a pool of connections, whose new ones this deadline holds."""
        watch = self._watch

        class Watched(type(pool).ConnectionCls):  # type: ignore[misc] # the class is an argument's
            def _new_conn(self) -> socket.socket:
                connection: socket.socket = super()._new_conn()
                watch(connection)
                return connection

        pool.ConnectionCls = Watched
        return pool

    def _watch(self, connection: socket.socket) -> None:
        """Hold a connection by a handle of our own: TLS takes the first one over."""
        with self._lock:
            self._connection = connection.dup()
        if self._is_over:
            self._cut()

    def _cut(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with contextlib.suppress(OSError):  # it may have ended by itself
                    self._connection.shutdown(socket.SHUT_RDWR)
