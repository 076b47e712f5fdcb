"""A limit for the total time of an exchange over HTTP.

A socket's own timeout restarts with every byte that arrives. If this timeout were the only limit, a
response that arrives byte by byte could take forever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any


class ExchangeDeadline:
    """Shuts down the connection of one exchange if the exchange takes too long."""

    def __init__(self, limit_s: float) -> None:
        """Store the number of seconds that an exchange may last."""
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_over = False

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Limit the duration of the exchange within the context.

        If no thread can be started to watch the time, only the socket's own timeouts apply. For
        example, Python 3.12 starts no thread after the main thread has ended, as in a program that
        flushes at its exit.

        Raises:
            TimeoutError: if the exchange took longer than the limit. The error is raised even if a
                response arrived, because the response may be truncated and still look complete.
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

    def watching(self, pool: Any) -> Any:  # noqa: ANN401 a pool of urllib3, which is not imported here
        """Return ``pool``, changed so that this deadline can close the pool's new connections."""
        watch = self._watch

        class Watched(type(pool).ConnectionCls):  # type: ignore[misc] # the class is an argument's
            def _new_conn(self) -> socket.socket:
                connection: socket.socket = super()._new_conn()
                watch(connection)
                return connection

        pool.ConnectionCls = Watched
        return pool

    def _watch(self, connection: socket.socket) -> None:
        """Keep a second handle of the connection for `_cut`, because TLS takes the first one."""
        with self._lock:
            self._connection = connection.dup()
        if self._is_over:
            self._cut()

    def _cut(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with contextlib.suppress(OSError):  # the connection may have ended already
                    self._connection.shutdown(socket.SHUT_RDWR)
