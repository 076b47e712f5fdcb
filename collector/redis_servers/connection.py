"""One connection to a server: that of redis-py, which here never reconnects.

A server is checked when a connection to it is opened: what it promises, and which store it holds.
redis-py's connections reconnect by themselves, to a server that nobody has checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import redis
from redis.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ReadOnlyError, ResponseError


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
