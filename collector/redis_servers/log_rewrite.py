"""The append-only files of a store's servers.

They hold uploads in order until they are rewritten.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from redis.exceptions import RedisError, ResponseError

from collector.redis_servers.connection import Connection
from collector.redis_servers.connections import Connections
from collector.redis_servers.server import Address, ask, info, setting


class Logs:
    """The files of all servers, replicas included. A server that is away is asked the next time."""

    def __init__(self, connections: Connections, nodes: Sequence[Address]) -> None:
        """Take the connections, and the nodes of the cluster that are known."""
        self._connections = connections
        self._nodes = nodes
        self._waiting: set[Address] = set()

    def rewrite_log(self) -> bool:
        """Ask every server to rewrite its file.

        Returns:
            Whether every server with a file has begun. If not, call this again; it then asks only
            those that had to wait.

        """
        servers = self._connections.servers(self._nodes)
        due = self._waiting.intersection(servers) or servers
        self._waiting = {address for address in due if self._ask(address, _is_busy)}
        return not self._waiting

    def log_rewrite_failed(self) -> bool:
        """Return whether the last rewrite failed on any server, for example on a full disk."""
        return any(self._ask(address, _has_failed) for address in self._connections.servers(self._nodes))

    def _ask(self, address: Address, question: Callable[[Connection], bool]) -> bool:
        """Return a server's answer, or False if it does not answer."""
        with contextlib.suppress(RedisError), self._connections.briefly(address) as connection:
            return question(connection)
        return False


def _is_busy(connection: Connection) -> bool:
    """Ask for a rewrite, and return whether one was running already."""
    if setting(connection, "appendonly") != "yes":
        return False
    try:
        ask(connection, "BGREWRITEAOF")
    except ResponseError:
        return True
    return False


def _has_failed(connection: Connection) -> bool:
    return info(connection, "persistence")["aof_last_bgrewrite_status"] != "ok"
