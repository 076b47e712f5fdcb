"""Connections to a server, the commands that they send, and the meaning of the server's errors.

The collector checks a server's settings and store when it opens a connection. A redis-py connection
would reconnect by itself, perhaps to another server. The connections in this module never
reconnect.

redis-py passes every parameter of a URL to the connection as an argument. Some arguments must not
be strings, but every parameter of a URL is a string. Other arguments change how responses are read,
or disable certificate checks. redis-py ignores a host before the path of a socket. It reads port 0
as 6379, and an invalid database as 0. `require_url` refuses such URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import hiredis
from redis.connection import AbstractConnection, SSLConnection, UnixDomainSocketConnection
from redis.connection import Connection as RedisConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from client_sdk.protocol.wire.base_url import is_host
from client_sdk.protocol.wire.failure import Failure, failure_of
from collector.errors import ConfigError, StoreFullError, StoreUnavailableError, require

EVEN_WHEN_FULL = """#!lua flags=allow-oom
-- KEYS[1]: the key of the command.
-- ARGV: the command, word by word.
return redis.call(unpack(ARGV))
"""


class Connection(AbstractConnection):
    """A connection that never reconnects.

    Commands may be sent before earlier responses arrive. If sending or receiving fails, the
    connection is closed, because an unread response would be mistaken for the response to a later
    command. After a response that is an error, the connection stays open.

    Attributes:
        history: the id of the server's replication history when the connection was opened (see
            `server.history`). Empty if reads need not wait for replicas.
    """

    history = ""
    _has_connected = False

    def connect_check_health(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 as in redis-py
        """Connect once. redis-py calls this method again after the connection was closed.

        Raises:
            RedisError: if the server cannot be reached, or the connection was opened before.
        """
        if self._has_connected:
            raise RedisConnectionError("the server closed the connection")
        self._has_connected = True
        super().connect_check_health(*args, **kwargs)

    def close(self) -> None:
        """Close the connection."""
        self.disconnect()  # type: ignore[no-untyped-call] # redis-py's

    def send(self, packed: bytes) -> None:
        """Send encoded commands (see `PackedCommand`), or raise a RedisError."""
        self.send_packed_command((packed,))  # type: ignore[no-untyped-call] # redis-py's

    def receive(self) -> Any:  # noqa: ANN401 the type depends on the command
        """Return the next response, or raise a RedisError."""
        return self.read_response()

    def receive_any(self) -> Any:  # noqa: ANN401 the type depends on the command
        """Return the next response, even an error about only one command.

        Raises:
            RedisError: if the response is an error about the whole server, or does not arrive in
                time.
        """
        try:
            return self.receive()
        except (NoScriptError, ReadOnlyError):
            raise  # the server was restarted or is no longer the master: connect again
        except ResponseError as error:
            return error


class TcpConnection(Connection, RedisConnection):
    """A connection over TCP."""


class TlsConnection(Connection, SSLConnection):
    """A connection over TLS."""


class UnixConnection(Connection, UnixDomainSocketConnection):
    """A connection over a Unix socket."""


CLASSES: Mapping[object, Any] = {
    RedisConnection: TcpConnection,
    SSLConnection: TlsConnection,
    UnixDomainSocketConnection: UnixConnection,
}
"""Maps each connection class that redis-py may choose for a URL to the class used instead."""


def even_when_full(name: str, key: str, *arguments: str | bytes | int) -> tuple[str | bytes | int, ...]:
    """Return a command in a form that the server executes even if its memory is full.

    Use this form to close a window or to record a property of the store. Otherwise, a full store
    could not be started, read or emptied.
    """
    return "EVAL", EVEN_WHEN_FULL, 1, key, name, key, *arguments


class PackedCommand(NamedTuple):
    """A command, encoded for sending. Sending a command twice must be safe.

    Attributes:
        tag: the text that determines the cluster's slot for the command. It is the prefix of a
            shard's keys, or the name of a key that belongs to no shard.
    """

    tag: str
    command: bytes

    @classmethod
    def packed(cls, tag: str, *command: str | bytes | int) -> PackedCommand:
        """Encode the words of a command."""
        return cls(tag, hiredis.pack_command(command))  # type: ignore[arg-type] # its stub takes one element


class TooFewCopiesError(RedisError):
    """The server has executed a write, but too few replicas have the write on disk so far."""


def unavailable(error: RedisError | ConfigError) -> StoreUnavailableError:
    """Translate a server's error into one of the collector's errors."""
    if isinstance(error, (ConfigError, TooFewCopiesError)):
        return StoreUnavailableError(str(error))
    if isinstance(error, OutOfMemoryError):
        return StoreFullError("the store's memory is full: give it more memory, or retire tallies")
    failure = failure_of(error)
    if isinstance(error, (RedisConnectionError, RedisTimeoutError)) or failure is Failure.DISK:
        return StoreUnavailableError(failure.said_of("the store", str(error)))
    return StoreUnavailableError(f"the store returned an error: {error}")


SCHEMES: Final = ("redis", "rediss", "unix")

PARAMETERS: Final = ("db",)
"""The parameters allowed in every URL."""

TLS_PARAMETERS: Final = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password")
"""Additional parameters allowed with ``rediss``. None of these can disable a certificate check."""

DATABASE: Final = re.compile(r"[0-9]{1,9}")

NO_URL: Final = (
    "--redis must be a URL such as redis://HOST:6379/0, rediss://HOST:6379/0 or unix:///PATH; write "
    "special characters of a password as %XX"
)


def require_url(url: str) -> None:
    """Refuse a URL if redis-py would misunderstand or ignore a part of the URL.

    Raises:
        ConfigError: if the URL is refused. The message contains no part of the URL except names of
            parameters. If the parameters contain an @, the message omits the names, which could be
            parts of a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError(NO_URL) from None
    # the system cuts a path at a NUL
    require(parts.scheme in SCHEMES and not parts.fragment and "\0" not in unquote(url), NO_URL)
    parameters = _parameters(parts)
    if parts.scheme == "unix":
        require(parts.path not in ("", "/") and not parts.hostname and port is None, NO_URL)
        databases = [parameters.get("db", "")]
    else:
        require("@" not in parts.path and is_host(parts.hostname or "localhost") and port != 0, NO_URL)
        databases = [parts.path.strip("/"), parameters.get("db", "")]
    _require_database([number for number in databases if number])


def _parameters(parts: SplitResult) -> dict[str, str]:
    """Map each parameter's name to its value. Refuse unknown, empty and repeated parameters."""
    known = PARAMETERS + TLS_PARAMETERS if parts.scheme == "rediss" else PARAMETERS
    values: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in known:
            require("@" not in parts.query, NO_URL)
            require(name not in TLS_PARAMETERS, f"{name} in the URL of --redis needs rediss://")
            raise ConfigError(f"the URL of --redis cannot have the parameter {name}, only {', '.join(known)}")
        require(value != "", f"{name} in the URL of --redis has no value")
        require(name not in values, f"{name} appears twice in the URL of --redis")
        values[name] = value
    for name in ("ssl_keyfile", "ssl_password"):
        require(name not in values or "ssl_certfile" in values, f"{name} in the URL of --redis needs ssl_certfile")
    return values


def _require_database(numbers: list[str]) -> None:
    require(
        all(map(DATABASE.fullmatch, numbers)),
        "the database in the URL of --redis must be a number, as in redis://HOST:6379/0",
    )
    require(len(numbers) <= 1, "the URL of --redis names its database twice, after the port and as db")
