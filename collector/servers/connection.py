"""One connection to a server: commands out, answers back, each within a time limit.

redis connects, speaks TLS and logs in; from there on this is the shorter way. A plain socket never waits: what is sent
fits into the kernel's buffer, and an answer is read when `poll` says that it is there. A socket with a time limit would
call `poll` before each command too. A blocking one needs none, but a Unix socket's reader is woken in vain when the
server takes the command in. TLS waits within its own calls, by the socket's time limit.
"""

from __future__ import annotations

import select
import socket
import ssl
from typing import Any

import hiredis
from redis.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

MOST_BYTES = 65_536
"""The most that is received at a time."""

_INCOMPLETE = object()
"""What the reader has of an answer of which not all is there."""


class Connection:
    """A connection that redis has opened.

    Commands may be sent before earlier ones are answered; answers come in order. Whatever is raised, but for an answer
    that is an error, closes the connection: an answer that was not read would be taken for another's.
    """

    def __init__(self, opened: AbstractConnection, timeout_s: float) -> None:
        """Take a connection over.

        Args:
            opened: connected, and with no answer due.
            timeout_s: how long sending, and each part of an answer, may take.

        """
        self._opened = opened
        self._timeout_s = timeout_s
        inner: Any = opened
        self._socket: socket.socket = inner._sock  # noqa: SLF001 redis shows it in no other way
        self._by_tls = isinstance(self._socket, ssl.SSLSocket)
        self._socket.settimeout(timeout_s if self._by_tls else 0)
        self._answer = select.poll()
        self._answer.register(self._socket, select.POLLIN)
        self._buffer = bytearray(MOST_BYTES)
        self._reader: Any = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=inner._parser.parse_error,  # noqa: SLF001 as above: an error by its class
            notEnoughData=_INCOMPLETE,
        )

    def close(self) -> None:
        """Close the connection, if it is not."""
        self._opened.disconnect()  # type: ignore[no-untyped-call] # as redis has it

    def send(self, packed: bytes) -> None:
        """Send packed commands.

        Raises:
            RedisError: if they cannot be sent, or not in time.

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

    def receive(self) -> Any:  # noqa: ANN401 as redis answers
        """Return the next answer.

        Raises:
            RedisError: if the answer is an error, or there is none, or none in time.

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

    def _send(self, packed: bytes) -> None:
        """Send what the kernel takes at once, nearly always all; wait only for the rest to be taken."""
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
