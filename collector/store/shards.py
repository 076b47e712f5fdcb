"""Questions to all shards of a store, each of which must still be the store's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from collector.errors import StoreUnavailableError
from collector.servers.command import Request, even_when_full
from collector.servers.server import Address
from collector.store import keys
from collector.store.shard_identity import numbered

Command: TypeAlias = Callable[[int], tuple[str | bytes | int, ...]]
"""What a shard is asked, by its number."""

SHARDS = 1
"""Shards of a new store on a single server; an existing store keeps the number that it was made with."""

CLUSTER_SHARDS = 64
"""Shards of a new store on a cluster: it can grow to as many nodes, and reading sums as many parts."""


class Layout(NamedTuple):
    """What `prepare` found of a store, for the workers to start with.

    Attributes:
        shards: how many shards the store was made with.
        nodes: where the nodes of the cluster listen.
        name: the store's own, drawn when it was first used; empty if it is not known, or if shards do not bear it yet.

    """

    shards: int = SHARDS
    nodes: tuple[Address, ...] = ()
    name: str = ""


ONE_SERVER = Layout()


class Asks(Protocol):
    """Sends commands to the servers that hold their keys: a Router, or a Reading."""

    def ask_all(self, requests: Sequence[Request], /) -> list[Any]:
        """Return their answers or StoreUnavailableErrors in order."""


class Shards:
    """Asks the shards of a store. Every method raises StoreUnavailableError if any does not answer."""

    def __init__(self, router: Asks) -> None:
        """Take what finds them."""
        self._router = router

    def ask(self, shards: Iterable[int], command: Command) -> list[Any]:
        """Return the answers of shards, whatever store they are of; all were asked, even if one does not answer."""
        requests = [Request.of(keys.prefix(shard), *command(shard)) for shard in shards]
        return self._answers(requests)

    def ask_own(self, layout: Layout, command: Command) -> list[Any]:
        """Return every shard's answer.

        Raises:
            StoreUnavailableError: also if any shard is no longer the store's own.

        """
        answers = self._answers(_with_names(layout, command))
        _require_own(layout, answers[1::2])  # a shard that bears its name now bore it when it answered before
        return answers[::2]

    def require_any_writable(self, layout: Layout) -> None:
        """Make sure that some shard takes writes, and is still the store's own."""
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
        """Make sure that every shard is still the store's own: what was read before was then whole."""
        _require_own(layout, self.ask(range(layout.shards), _name_of))

    def names(self, shards: int) -> list[str | None]:
        """Return the name of a store that each shard bears, if any."""
        return [None if name is None else name.decode() for name in self.ask(range(shards), _name_of)]

    def name(self, shards: Sequence[int], name: str) -> None:
        """Have those of some shards that bear no name bear one from now on."""
        self.ask(shards, lambda shard: even_when_full("SET", keys.of_shard(shard, keys.NAME), name, "NX"))

    def _answers(self, requests: Sequence[Request]) -> list[Any]:
        answers = self._router.ask_all(requests)
        for answer in answers:
            if isinstance(answer, StoreUnavailableError):
                raise answer
        return answers


def _name_of(shard: int) -> tuple[str, str]:
    return "GET", keys.of_shard(shard, keys.NAME)


def _with_names(layout: Layout, command: Command) -> list[Request]:
    """Return a command for each shard, and after each of them the question for the shard's name."""
    return [
        Request.of(keys.prefix(shard), *words)
        for shard in range(layout.shards)
        for words in (command(shard), _name_of(shard))
    ]


def _lost(layout: Layout, borne: Sequence[bytes | None]) -> list[int]:
    """Return the shards that are not the store's own; none where its name is not known."""
    name = layout.name.encode()
    return [shard for shard, found in enumerate(borne) if name and found != name]


def _require_own(layout: Layout, borne: Sequence[bytes | None]) -> None:
    lost = _lost(layout, borne)
    if lost:
        raise StoreUnavailableError(
            f"the store that this collector began with has lost {numbered(lost)}: emptied, or replaced by others; "
            "bring the first ones back, or start the collector anew, which then says what there is to do"
        )
