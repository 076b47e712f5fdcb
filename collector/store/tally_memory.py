"""Checks whether the tallies of a registry fit into the memory of a store's servers."""

from __future__ import annotations

from typing import NamedTuple

from client_sdk.protocol.registry.registry import Registry
from collector.errors import in_units, plural, require
from collector.redis_servers.connection import Connection
from collector.redis_servers.memory import Memory
from collector.redis_servers.server import info, memory_of
from collector.store.shards import Shards

COUNTER_BYTES = 8
"""The memory (bytes) for each symbol, in each shard and window."""


class TallyMemory(NamedTuple):
    """The memory for one window of every question, if every symbol is reported.

    Attributes:
        shards: the number of the store's shards; each has a part of every tally.
        needed_bytes: the memory that all shards need together.
        largest: the metric with the largest tally.
        is_new: whether there is no store yet, so that `shards` is the number for a new store.

    """

    shards: int
    needed_bytes: int
    largest: str
    is_new: bool

    @classmethod
    def from_registry(cls, registry: Registry, shards: int, *, is_new: bool = False) -> TallyMemory:
        """Add up the tallies of all questions."""
        tallies = [(len(metric.editions) * metric.channel.symbols, metric.name) for metric in registry.counted]
        needed_bytes = COUNTER_BYTES * shards * sum(symbols for symbols, _ in tallies)
        return cls(shards, needed_bytes, max(tallies)[1], is_new)

    def __str__(self) -> str:
        """Describe the needed memory."""
        shards = plural(self.shards, "shard") + (", as a new store has" if self.is_new else "")
        return f"one window of every question needs up to {in_units(self.needed_bytes)} in {shards}"

    def lack(self, room_bytes: int, what: str) -> str:
        """Return the error message for a registry that does not fit.

        Args:
            room_bytes: the available memory, which is less than needed.
            what: a predicate for the available memory, such as ``are free``.

        """
        return (
            f"{self}, but {in_units(room_bytes)} {what}: give the servers more memory, or make the tally of "
            f"metric.{self.largest} smaller (for texts, with fewer cells)"
        )


def require_memory(store: Shards, registry: Registry) -> None:
    """Refuse a registry if not even one window would fit into an otherwise empty store.

    The memory that is free now does not matter, because the current window may already be stored,
    for example after a restart.

    Raises:
        ConfigError: if the window would not fit; the message says how much memory is missing, and
            what to do.
        StoreUnavailableError: if a server does not respond.

    """
    needed, most_bytes = TallyMemory.from_registry(registry, store.number), sum(store.ask_servers(_most_bytes))
    require(needed.needed_bytes <= most_bytes, needed.lack(most_bytes, "is all that the servers may use"))


def free_bytes(connection: Connection) -> int:
    """Return how much memory a server has left for tallies."""
    memory = _memory_for_tallies(connection)
    return 0 if memory is None else max(0, memory.most_bytes - memory.used_bytes)


def _most_bytes(connection: Connection) -> int:
    memory = _memory_for_tallies(connection)
    return 0 if memory is None else memory.most_bytes


def _memory_for_tallies(connection: Connection) -> Memory | None:
    """Return the memory of a server, or None for a replica, which only has copies."""
    return memory_of(connection) if info(connection, "replication")["role"] == "master" else None
