"""How long an exchange over HTTP may take altogether; the SDK has the same, for neither imports the other.

A socket's own timeout begins anew with every byte that comes, so that an answer which drips would never end.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any


class Deadline:
    """Cuts the connection of an exchange that takes too long. For one thread, and one connection at a time."""

    def __init__(self, limit_s: float) -> None:
        """Take how many seconds an exchange may last."""
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_over = False

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Hold the exchange that the context is to its time; the connection may stay open for the next.

        Raises:
            TimeoutError: if it took longer, whatever else came of it: an answer that was cut short may look whole.

        """
        self._is_over = False
        timer = threading.Timer(self._limit_s, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # or it might cut the next exchange
            self._let_go()
            if self._is_over:
                raise TimeoutError

    def watching(self, pool: Any) -> Any:  # noqa: ANN401 a pool of urllib3's, which is not imported here
        """Return a pool of connections, whose new ones this deadline holds."""
        if "ConnectionCls" in vars(pool):  # as it was returned for the exchange before
            return pool
        watch = self._watch

        class Watched(type(pool).ConnectionCls):  # type: ignore[misc] # the class is an argument's
            def _new_conn(self) -> socket.socket:
                connection: socket.socket = super()._new_conn()
                watch(connection)
                return connection

            def request(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401 as in the base
                if self.sock is not None:  # it is open since the exchange before
                    watch(self.sock)
                super().request(*args, **settings)

        pool.ConnectionCls = Watched
        return pool

    def _watch(self, connection: socket.socket) -> None:
        """Hold a connection by a handle of our own: TLS takes the first one over, and urllib3 may close it early."""
        self._let_go()
        with self._lock:
            self._connection = socket.socket(fileno=os.dup(connection.fileno()))
        if self._is_over:
            self._cut()

    def _let_go(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _cut(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with contextlib.suppress(OSError):  # it may have ended by itself
                    self._connection.shutdown(socket.SHUT_RDWR)
