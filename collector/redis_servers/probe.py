"""Asks one server whether it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from redis.exceptions import RedisError

from collector.redis_servers.connections import Connections
from collector.redis_servers.server import ask
from collector.required_settings import NO_PROMISE

Measured = TypeVar("Measured")


def answers(url: str) -> bool:
    """Return whether a server answers, whatever it promises."""
    return before_an_answer(url, lambda: True) is not None


def before_an_answer(url: str, measure: Callable[[], Measured]) -> Measured | None:
    """Measure something while a server process runs that answers before and after.

    The server has then completed every write that it made before the measurement, on disk if it
    writes through.

    Returns:
        The measurement, or None if the process did not answer both times.

    """
    connections = Connections(url, NO_PROMISE, is_cluster=False)
    try:
        with connections.briefly(None) as connection:
            ask(connection, "PING")
            measured = measure()
            ask(connection, "PING")
    except RedisError:
        return None
    return measured
