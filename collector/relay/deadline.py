"""Limits how long an exchange over HTTP may take altogether.

A socket's own timeout starts again with every byte, so an answer that arrives byte by byte would
never end. The SDK has the same limit; collector and SDK do not import each other.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any


class ForwardDeadline:
    """Cuts the connection of an exchange that takes too long.

    For one thread, and one connection at a time.
    """

    def __init__(self, limit_s: float) -> None:
        """Take the number of seconds that an exchange may last."""
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_over = False

    @contextlib.contextmanager
    def enforced(self) -> Iterator[None]:
        """Limit the exchange inside the context. The connection may stay open for the next one.

        Raises:
            TimeoutError: if it took longer, whatever its result: an answer that was cut short may
                look complete.

        """
        self._is_over = False
        timer = threading.Timer(self._limit_s, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # otherwise it might cut the next exchange
            self._release()
            if self._is_over:
                raise TimeoutError

    def watching(self, pool: Any) -> Any:  # noqa: ANN401 a pool of urllib3's, which is not imported here
        """Return a pool of connections. The deadline applies to each of its new connections."""
        if "ConnectionCls" in vars(pool):  # prepared for an earlier exchange
            return pool
        watch = self._watch

        class Watched(type(pool).ConnectionCls):  # type: ignore[misc] # the class is an argument's
            def _new_conn(self) -> socket.socket:
                connection: socket.socket = super()._new_conn()
                watch(connection)
                return connection

            def request(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401 as in the base
                if self.sock is not None:  # open since an earlier exchange
                    watch(self.sock)
                super().request(*args, **settings)

        pool.ConnectionCls = Watched
        return pool

    def _watch(self, connection: socket.socket) -> None:
        """Keep our own handle of a connection.

        TLS takes over the first handle, and urllib3 may close it early.
        """
        self._release()
        with self._lock:
            self._connection = socket.socket(fileno=os.dup(connection.fileno()))
        if self._is_over:
            self._cut()

    def _release(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _cut(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with contextlib.suppress(OSError):  # the connection may have ended already
                    self._connection.shutdown(socket.SHUT_RDWR)
