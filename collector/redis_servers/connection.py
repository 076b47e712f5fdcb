"""One connection to a server, the commands that it sends, and what its errors mean.

A server is checked when a connection to it is opened: what it promises, and which store it holds.
redis-py's connections reconnect by themselves, to a server that nobody has checked; these never do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import hiredis
import redis
from redis.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from client_sdk.protocol.wire.failure import Failure, failure_of
from collector.errors import ConfigError, StoreFullError, StoreUnavailableError

EVEN_WHEN_FULL = """#!lua flags=allow-oom
-- KEYS: the key of the command; ARGV: the command
return redis.call(unpack(ARGV))
"""


class Connection(AbstractConnection):
    """A connection that connects once.

    Commands may be sent before earlier ones are answered; answers come in order. Every exception
    closes the connection, because an unread answer would be taken for the answer to a later
    command. Only an answer that is itself an error leaves it open.

    Attributes:
        history: the history that the server continued when the connection was opened, where that
            matters; see `server.history`.

    """

    history = ""
    _has_connected = False

    def connect_check_health(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 as redis-py has it
        """Connect; redis-py calls this again when it finds the connection closed.

        Raises:
            RedisError: if there is no connection, or there was one before.

        """
        if self._has_connected:
            raise RedisConnectionError("it closed the connection")
        self._has_connected = True
        super().connect_check_health(*args, **kwargs)

    def close(self) -> None:
        """Close the connection. Closing it twice does no harm."""
        self.disconnect()  # type: ignore[no-untyped-call] # redis-py's

    def send(self, packed: bytes) -> None:
        """Send packed commands.

        Raises:
            RedisError: if they cannot be sent in time.

        """
        self.send_packed_command((packed,))  # type: ignore[no-untyped-call] # redis-py's

    def receive(self) -> Any:  # noqa: ANN401 the server decides
        """Return the next answer.

        Raises:
            RedisError: if the answer is an error, or does not come in time.

        """
        return self.read_response()

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


class TcpConnection(Connection, redis.Connection):
    """A connection by TCP."""


class TlsConnection(Connection, redis.SSLConnection):
    """A connection by TLS."""


class UnixConnection(Connection, redis.UnixDomainSocketConnection):
    """A connection over a Unix socket."""


CLASSES: Mapping[object, Any] = {
    redis.Connection: TcpConnection,
    redis.SSLConnection: TlsConnection,
    redis.UnixDomainSocketConnection: UnixConnection,
}
"""The class of connections in place of that which redis-py chooses for a URL."""


def even_when_full(name: str, key: str, *arguments: str | bytes | int) -> tuple[str | bytes | int, ...]:
    """Return a command that is carried out even if the server's memory is full.

    It is for commands that close a window or record a fact. With them a full store can still be
    started, read, closed and cleared of old tallies.

    Args:
        name: the command's name.
        key: its only key.
        arguments: its other arguments.

    """
    return "EVAL", EVEN_WHEN_FULL, 1, key, name, key, *arguments


class PackedCommand(NamedTuple):
    """A command in the form in which it is sent.

    Attributes:
        tag: decides the slot: a shard's prefix, or a key that belongs to no shard.
        command: its bytes. Sending it twice must be safe.

    """

    tag: str
    command: bytes

    @classmethod
    def of(cls, tag: str, *command: str | bytes | int) -> PackedCommand:
        """Pack a command that is given in words."""
        return cls(tag, hiredis.pack_command(command))  # type: ignore[arg-type] # its stub takes one element


class TooFewCopiesError(RedisError):
    """A write was made, but too few replicas have it on disk yet."""


def unavailable(error: RedisError | ConfigError) -> StoreUnavailableError:
    """Translate an error of a server into one of the collector's own."""
    if isinstance(error, (ConfigError, TooFewCopiesError)):
        return StoreUnavailableError(str(error))
    if isinstance(error, OutOfMemoryError):
        return StoreFullError("the store's memory is full: give it more, or retire tallies")
    failure = failure_of(error)
    if isinstance(error, (RedisConnectionError, RedisTimeoutError)) or failure is Failure.DISK:
        return StoreUnavailableError(failure.said_of("the store", str(error)))
    return StoreUnavailableError(f"the store returned an error: {error}")
