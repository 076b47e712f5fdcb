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
"""The memory, in bytes, of the counter that each symbol has in every shard and window."""


class TallyMemory(NamedTuple):
    """The memory that the tallies of all metrics need for one window, if every symbol is reported.

    Attributes:
        needed_bytes: the memory that all shards need together.
        largest: the name of the metric with the largest tallies.
        is_new: whether the store does not exist yet.
    """

    shards: int
    needed_bytes: int
    largest: str
    is_new: bool

    @classmethod
    def from_registry(cls, registry: Registry, shards: int, *, is_new: bool = False) -> TallyMemory:
        """Add up the memory of the tallies of all metrics."""
        tallies = [(len(metric.editions) * metric.channel.symbols, metric.name) for metric in registry.counted]
        needed_bytes = COUNTER_BYTES * shards * sum(symbols for symbols, _ in tallies)
        return cls(shards, needed_bytes, max(tallies)[1], is_new)

    def __str__(self) -> str:
        shards = plural(self.shards, "shard") + (", as a new store has" if self.is_new else "")
        return f"one window of every question needs up to {in_units(self.needed_bytes)} in {shards}"

    def lack(self, room_bytes: int, what: str) -> str:
        """Return the error message for a registry that does not fit.

        ``what`` follows the available memory in the message, such as ``are free``.
        """
        return (
            f"{self}, but {in_units(room_bytes)} {what}: give the servers more memory, or make the tally of "
            f"metric.{self.largest} smaller (for texts, with fewer cells)"
        )


def require_memory(store: Shards, registry: Registry) -> None:
    """Refuse a registry if the tallies of one window would not even fit into an empty store.

    The memory that is free now does not matter, because the current window may already be stored.

    Raises:
        ConfigError: if the tallies would not fit. The message names the remedy.
        StoreUnavailableError: if a server does not respond.
    """
    needed, most_bytes = TallyMemory.from_registry(registry, store.layout.shards), sum(store.ask_servers(_most_bytes))
    require(needed.needed_bytes <= most_bytes, needed.lack(most_bytes, "is all that the servers may use"))


def free_bytes(connection: Connection) -> int:
    """Return the memory that a server has left for tallies, in bytes. For a replica, return 0."""
    memory = _memory_for_tallies(connection)
    return 0 if memory is None else max(0, memory.most_bytes - memory.used_bytes)


def _most_bytes(connection: Connection) -> int:
    memory = _memory_for_tallies(connection)
    return 0 if memory is None else memory.most_bytes


def _memory_for_tallies(connection: Connection) -> Memory | None:
    """Return the memory of a master, or None for a replica."""
    return memory_of(connection) if info(connection, "replication")["role"] == "master" else None
