"""Prepares fresh connections to a store: checks the store's name, loads the counting script."""

from __future__ import annotations

from redis.exceptions import AskError, ClusterDownError

from collector.errors import ConfigError
from collector.redis_servers.connection import Connection
from collector.redis_servers.server import ask
from collector.store import keys
from collector.store.count_script import COUNT_UPLOAD
from collector.store.schema import NAME_FIELD


class ConnectionSetup:
    """Called with every connection that has just been opened, before it is used.

    Attributes:
        expected_name: the name that the store must have. If it is empty, any store will do.

    """

    def __init__(self, expected_name: str) -> None:
        """Start with the name of a store that is known, or with an empty name."""
        self.expected_name = expected_name

    def __call__(self, connection: Connection) -> None:
        """Prepare a connection.

        Raises:
            ConfigError: if the server holds another store, or an empty one.
            RedisError: if the server does not answer.

        """
        if self.expected_name:
            self._require_name(connection)
        ask(connection, "SCRIPT", "LOAD", COUNT_UPLOAD)

    def _require_name(self, connection: Connection) -> None:
        """Check the name where this server knows it; on other nodes, the shards carry it."""
        try:
            name = ask(connection, "HGET", keys.STORE, NAME_FIELD)
        except (AskError, ClusterDownError):
            # another node has the key, or the node that had it is lost
            return
        if name != self.expected_name.encode():
            raise ConfigError(
                "the store is not the one that this collector started with: it is empty, or was replaced by "
                "another; bring the first one back, or restart the collector if it is meant to use this one"
            )
