"""Questions to every server of a store, replicas included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from redis.exceptions import RedisError

from collector.redis_servers.connection import Connection
from collector.redis_servers.connections import Connections
from collector.redis_servers.pipeline import unavailable
from collector.redis_servers.server import Address

Answer = TypeVar("Answer")


def addresses(connections: Connections, known: Sequence[Address]) -> list[Address]:
    """Return the addresses of all servers; `known` are nodes to ask for them.

    Raises:
        StoreUnavailableError: if no server answers.

    """
    try:
        return connections.servers(known)
    except RedisError as error:
        raise unavailable(error) from error


def ask_every_server(
    connections: Connections, known: Sequence[Address], question: Callable[[Connection], Answer]
) -> list[Answer]:
    """Return every server's answer to a question, each over a new connection.

    Raises:
        StoreUnavailableError: if a server does not answer.

    """
    answers = []
    try:
        for address in connections.servers(known):
            with connections.briefly(address) as connection:
                answers.append(question(connection))
    except RedisError as error:
        raise unavailable(error) from error
    return answers


def require_promise(connections: Connections, known: Sequence[Address], *, is_cluster: bool) -> tuple[Address, ...]:
    """Make sure that every server keeps the promise.

    Returns:
        The nodes of the cluster; none if it is a single server.

    Raises:
        ConfigError: if a server is too old or cannot keep the promise.
        StoreUnavailableError: if a server does not answer.

    """
    try:
        connections.open(None).close()
        nodes = tuple(connections.servers(known)) if is_cluster else ()
        for address in nodes:
            connections.open(address).close()
    except RedisError as error:
        raise unavailable(error) from error
    return nodes
