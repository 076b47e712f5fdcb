"""One connection to a server: commands out, answers back, each within a time limit.

redis-py connects, speaks TLS and logs in. After that this module takes over the socket, because it
is cheaper: with `redis.Connection.send_packed_command` and `read_response` a call over a Unix
socket took 6.0 to 6.7 us of processor time in the median, here 4.8 to 5.2 (range 3.9 to 6.0; 25
rounds of 4,000 calls of PING, GET and a 600-byte ECHO each, in turns, redis-py 8.1 with hiredis
3.5). And `redis.Connection` reconnects by itself, to a server that nobody has checked.

A plain socket never blocks. What is sent fits into the kernel's buffer, and an answer is read when
`poll` reports it. A socket with a time limit would call `poll` before each command too. A blocking
socket would not, but the reader of a Unix socket is woken for nothing when the server takes the
command in. TLS waits within its own calls, limited by the socket's timeout.
"""

from __future__ import annotations

import select
import socket
import ssl
from typing import Any

import hiredis
from redis.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, NoScriptError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

MOST_BYTES = 65_536
"""The largest number of bytes that is received at a time."""

_INCOMPLETE = object()
"""Returned by the reader while an answer is incomplete."""


class Connection:
    """A connection that redis-py has opened.

    Commands may be sent before earlier ones are answered; answers come in order. Every exception
    closes the connection, because an unread answer would be taken for the answer to a later
    command. Only an answer that is itself an error leaves it open.

    Attributes:
        history: the history that the server continued when the connection was opened, where that
            matters; see `server.history`.

    """

    def __init__(self, opened: AbstractConnection, timeout_s: float) -> None:
        """Take a connection over.

        Args:
            opened: a connected connection with no answer due.
            timeout_s: seconds that sending, or any part of an answer, may take.

        """
        self.history = ""
        self._opened = opened
        self._timeout_s = timeout_s
        inner: Any = opened
        self._socket: socket.socket = inner._sock  # noqa: SLF001 redis-py has no public name for it
        self._by_tls = isinstance(self._socket, ssl.SSLSocket)
        self._socket.settimeout(timeout_s if self._by_tls else 0)
        self._answer = select.poll()
        self._answer.register(self._socket, select.POLLIN)
        self._buffer = bytearray(MOST_BYTES)
        self._reader: Any = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=inner._parser.parse_error,  # noqa: SLF001 as above; it picks the class of an error
            notEnoughData=_INCOMPLETE,
        )

    def close(self) -> None:
        """Close the connection. Closing it twice does no harm."""
        self._opened.disconnect()  # type: ignore[no-untyped-call] # redis-py's

    def send(self, packed: bytes) -> None:
        """Send packed commands.

        Raises:
            RedisError: if they cannot be sent in time.

        """
        try:
            if self._by_tls:
                self._socket.sendall(packed)
            else:
                self._send(packed)
        except OSError as error:
            self.close()
            raise _of_redis(error) from error
        except BaseException:
            self.close()
            raise

    def receive(self) -> Any:  # noqa: ANN401 the server decides
        """Return the next answer.

        Raises:
            RedisError: if the answer is an error, or does not come in time.

        """
        try:
            while (answer := self._reader.gets()) is _INCOMPLETE:
                self._read_more()
        except OSError as error:
            self.close()
            raise _of_redis(error) from error
        except BaseException:
            self.close()
            raise
        if isinstance(answer, RedisError):
            raise answer
        return answer

    def receive_any(self) -> Any:  # noqa: ANN401 the server decides
        """Return the next answer, also if it is an error that concerns one command only.

        Raises:
            RedisError: if the answer concerns the server, or does not come in time.

        """
        try:
            return self.receive()
        except (NoScriptError, ReadOnlyError):
            raise  # the server was restarted or is no longer the master: connect again
        except ResponseError as error:
            return error

    def _send(self, packed: bytes) -> None:
        """Send what the kernel takes at once, nearly always everything, and wait for the rest."""
        try:
            rest = packed[self._socket.send(packed) :]
        except BlockingIOError:
            rest = packed
        if rest:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(rest)
            self._socket.settimeout(0)

    def _read_more(self) -> None:
        if not self._by_tls and not self._answer.poll(self._timeout_s * 1000):
            raise TimeoutError
        received = self._socket.recv_into(self._buffer)
        if not received:
            raise RedisConnectionError("it closed the connection")
        self._reader.feed(self._buffer, 0, received)


def _of_redis(error: OSError) -> RedisError:
    if isinstance(error, TimeoutError):
        return RedisTimeoutError("it did not answer in time")
    return RedisConnectionError(f"the connection broke ({error.strerror})")
