"""The append-only files of a store's servers, which hold uploads in order until they are rewritten."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from redis.exceptions import RedisError, ResponseError

from collector.servers.connection import Connection
from collector.servers.connections import Connections
from collector.servers.pipeline import unavailable
from collector.servers.server import Address, ask, info, setting


class Logs:
    """The files of all servers, replicas too. A server that is away is asked the next time."""

    def __init__(self, connections: Connections, nodes: Sequence[Address]) -> None:
        """Take the connections, and nodes of the cluster that were seen before."""
        self._connections = connections
        self._nodes = nodes
        self._waiting: set[Address] = set()

    def rewrite_log(self) -> bool:
        """Ask every server to rewrite its file.

        Returns:
            Whether each rewrite has begun, or there is no file; if not, ask again for those that had to wait.

        """
        servers = self._servers()
        due = self._waiting.intersection(servers) or servers
        self._waiting = {address for address in due if self._ask(address, _is_busy)}
        return not self._waiting

    def log_rewrite_failed(self) -> bool:
        """Whether the last rewrite that began anywhere came to nothing, for example because the disk is full."""
        return any(self._ask(address, _has_failed) for address in self._servers())

    def _servers(self) -> list[Address]:
        try:
            return self._connections.servers(self._nodes)
        except RedisError as error:
            raise unavailable(error) from error

    def _ask(self, address: Address, question: Callable[[Connection], bool]) -> bool:
        """Return what a server answers; false where it does not."""
        with contextlib.suppress(RedisError), self._connections.briefly(address) as connection:
            return question(connection)
        return False


def _is_busy(connection: Connection) -> bool:
    """Ask for a rewrite, and return whether one is under way already."""
    if setting(connection, "appendonly") != "yes":
        return False
    try:
        ask(connection, "BGREWRITEAOF")
    except ResponseError:
        return True
    return False


def _has_failed(connection: Connection) -> bool:
    return info(connection, "persistence")["aof_last_bgrewrite_status"] != "ok"
