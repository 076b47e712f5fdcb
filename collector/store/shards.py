"""Questions to all shards of a store, each of which must still belong to the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from collector.errors import StoreUnavailableError
from collector.redis_servers.command import PackedCommand, even_when_full
from collector.redis_servers.server import Address
from collector.store import keys
from collector.store.shard_identity import numbered

Command: TypeAlias = Callable[[int], tuple[str | bytes | int, ...]]
"""Returns the command for a shard, given the shard's number."""

SHARDS = 1
"""Shards of a new store on a single server.

An existing store keeps the number that it was created with.
"""

CLUSTER_SHARDS = 64
"""Shards of a new store on a cluster.

It can grow to as many nodes; reading a tally adds up as many parts.
"""


class Layout(NamedTuple):
    """What `prepare` learned about a store; workers start with it.

    Attributes:
        shards: the number of shards that the store was created with.
        nodes: the addresses of the cluster's nodes.
        name: the store's name, drawn at random when it was first used. It is empty if it is not
            known, or if shards do not carry it yet.

    """

    shards: int = SHARDS
    nodes: tuple[Address, ...] = ()
    name: str = ""


ONE_SERVER = Layout()


class Asks(Protocol):
    """Sends commands to the servers that hold their keys: a Router, or a Reading."""

    def ask_all(self, requests: Sequence[PackedCommand], /) -> list[Any]:
        """Return their answers or StoreUnavailableErrors in order."""


class Shards:
    """Asks the shards of a store.

    Every method raises StoreUnavailableError if a shard does not answer.
    """

    def __init__(self, router: Asks) -> None:
        """Take what finds the shards."""
        self._router = router

    def ask(self, shards: Iterable[int], command: Command) -> list[Any]:
        """Return the answers of shards, whether or not they belong to the store.

        All are asked, even if one does not answer.
        """
        requests = [PackedCommand.of(keys.prefix(shard), *command(shard)) for shard in shards]
        return self._answers(requests)

    def ask_own(self, layout: Layout, command: Command) -> list[Any]:
        """Return every shard's answer.

        Raises:
            StoreUnavailableError: also if a shard no longer belongs to the store.

        """
        answers = self._answers(_with_names(layout, command))
        # a shard that has its name now had it when it answered before
        _require_own(layout, answers[1::2])
        return answers[::2]

    def require_any_writable(self, layout: Layout) -> None:
        """Make sure that at least one shard takes writes and still belongs to the store."""
        answers = self._router.ask_all(
            _with_names(layout, lambda shard: ("SET", keys.of_shard(shard, keys.NEVER), "", "XX"))
        )
        refusals = {
            shard: answer for shard, answer in enumerate(answers[::2]) if isinstance(answer, StoreUnavailableError)
        }
        if len(refusals.keys() | set(_lost(layout, answers[1::2]))) < layout.shards:
            return
        if refusals:
            raise next(iter(refusals.values()))
        _require_own(layout, answers[1::2])

    def require_own(self, layout: Layout) -> None:
        """Make sure that every shard still is the store's; then earlier reads were complete."""
        _require_own(layout, self.ask(range(layout.shards), _name_of))

    def names(self, shards: int) -> list[str | None]:
        """Return the store name that each shard carries, or None for a shard without a name."""
        return [None if name is None else name.decode() for name in self.ask(range(shards), _name_of)]

    def name(self, shards: Sequence[int], name: str) -> None:
        """Write a name to those of the given shards that carry none."""
        self.ask(shards, lambda shard: even_when_full("SET", keys.of_shard(shard, keys.NAME), name, "NX"))

    def _answers(self, requests: Sequence[PackedCommand]) -> list[Any]:
        answers = self._router.ask_all(requests)
        for answer in answers:
            if isinstance(answer, StoreUnavailableError):
                raise answer
        return answers


def _name_of(shard: int) -> tuple[str, str]:
    return "GET", keys.of_shard(shard, keys.NAME)


def _with_names(layout: Layout, command: Command) -> list[PackedCommand]:
    """Return a command for each shard, each followed by a question for the shard's name."""
    return [
        PackedCommand.of(keys.prefix(shard), *words)
        for shard in range(layout.shards)
        for words in (command(shard), _name_of(shard))
    ]


def _lost(layout: Layout, shard_names: Sequence[bytes | None]) -> list[int]:
    """Return the shards that do not belong to the store.

    If the store's name is not known, there are none.
    """
    expected = layout.name.encode()
    return [shard for shard, name in enumerate(shard_names) if expected and name != expected]


def _require_own(layout: Layout, shard_names: Sequence[bytes | None]) -> None:
    lost = _lost(layout, shard_names)
    if lost:
        raise StoreUnavailableError(
            f"the store that this collector started with has lost {numbered(lost)}: they were emptied or replaced; "
            "bring the original ones back, or restart the collector, which then says what to do"
        )
