"""Whether the shards of a store are still its own. Pure: names of shards in, missing shards out.

Every shard carries the store's name. That shows when a shard was emptied or replaced, wherever it
lies. The names are written once. After the store's facts say that all shards have it, a shard
without it is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from collector.errors import ConfigError
from collector.store.schema import NAME_FIELD, NAMED_FIELD

WAY_OUT = (
    "bring back the servers that held it, with their files, and start the collector again; or, to go on with what is "
    "left, run hearsay-collector accept-loss with the options that name the store"
)


def shards_to_name(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> list[int]:
    """Return the shards that do not have the store's name yet.

    There are some if the store is new, or was last used by a version that knew no names.

    Args:
        facts: the store's facts.
        shard_names: the name that each shard carries, or None.

    Raises:
        ConfigError: if a shard is lost or belongs to another store.

    """
    others = [shard for shard, name in enumerate(shard_names) if name not in (None, facts.get(NAME_FIELD))]
    if others:
        raise ConfigError(f"another store's name is on {numbered(others)}: {WAY_OUT}")
    lost = [shard for shard, name in enumerate(shard_names) if name is None]
    if lost and NAMED_FIELD in facts:
        raise ConfigError(f"the store has lost {numbered(lost)}, with what was acknowledged there: {WAY_OUT}")
    return lost


def require_facts(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> None:
    """Refuse a store that has shards but no facts.

    Args:
        facts: the store's facts, read after the names, because they are written before them.
        shard_names: the name that each shard carries, or None.

    Raises:
        ConfigError: if so; it says which shards are lost too.

    """
    if facts or not any(shard_names):
        return
    lost = [shard for shard, name in enumerate(shard_names) if name is None]
    raise ConfigError(f"the store has lost the key hearsay:store, and {numbered(lost)}: {WAY_OUT}")


def name_to_go_on_with(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> str | None:
    """Return the name of the store that has parts left, or None if no shard has ever had a name.

    Facts that no shard confirms come from a collector that mistook the lost store's place for a new
    store.

    Raises:
        ConfigError: if parts of several stores are left.

    """
    left = {name for name in shard_names if name is not None}
    if NAMED_FIELD in facts:
        left.add(facts[NAME_FIELD])
    if len(left) > 1:
        raise ConfigError("the servers hold parts of several stores: only you can tell which one to continue with")
    return next(iter(left), None)


def numbered(shards: Iterable[int]) -> str:
    """Return the numbers of shards for people, in order, such as "shards 3, 5-7", or "no shard"."""
    numbers = sorted(shards)
    if not numbers:
        return "no shard"
    starts = [number for before, number in pairwise((-2, *numbers)) if number != before + 1]
    ends = [number for number, after in pairwise((*numbers, -2)) if after != number + 1]
    runs = (str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
    return f"shard{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"
