"""Whether the shards of a store are still its own. Pure: what they bear in, what is missing out.

Every shard bears the store's name, so that one that was emptied, or put in the place of another, is known wherever it
lies. The names are written once: a shard without one is lost as soon as the store's facts say that all had it.
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


def shards_to_name(facts: Mapping[str, str], borne: Sequence[str | None]) -> list[int]:
    """Return the shards of a store that are yet to get its name: of one that is new, or was last used before names.

    Args:
        facts: what the store says of itself.
        borne: the name that each shard bears, if any.

    Raises:
        ConfigError: if any shard is lost, or another store's.

    """
    others = [shard for shard, name in enumerate(borne) if name not in (None, facts.get(NAME_FIELD))]
    if others:
        raise ConfigError(f"another store's name is borne by {numbered(others)}: {WAY_OUT}")
    lost = [shard for shard, name in enumerate(borne) if name is None]
    if lost and NAMED_FIELD in facts:
        raise ConfigError(f"the store has lost {numbered(lost)}, with what was acknowledged there: {WAY_OUT}")
    return lost


def require_facts(facts: Mapping[str, str], borne: Sequence[str | None]) -> None:
    """Refuse a store that says nothing of itself though shards of one are there.

    Args:
        facts: what the store says of itself; asked for after the names, which are written later.
        borne: the name that each shard bears, if any.

    Raises:
        ConfigError: saying which shards are lost too.

    """
    if facts or not any(borne):
        return
    lost = [shard for shard, name in enumerate(borne) if name is None]
    raise ConfigError(f"the store has lost the key hearsay:store, and {numbered(lost)}: {WAY_OUT}")


def name_to_go_on_with(facts: Mapping[str, str], borne: Sequence[str | None]) -> str | None:
    """Return the name of the store of which parts are left; none where no shard has ever borne one.

    Facts that no shard bears out are those of a collector that took the place of the lost ones for a new store.

    Raises:
        ConfigError: if parts of several stores are left.

    """
    left = {name for name in borne if name is not None}
    if NAMED_FIELD in facts:
        left.add(facts[NAME_FIELD])
    if len(left) > 1:
        raise ConfigError("the servers hold parts of several stores: only you can tell which is the one to go on with")
    return next(iter(left), None)


def numbered(shards: Iterable[int]) -> str:
    """Return numbers of shards for people, in order: shards 3, 5-7; no shard, if there is none."""
    numbers = sorted(shards)
    if not numbers:
        return "no shard"
    starts = [number for before, number in pairwise((-2, *numbers)) if number != before + 1]
    ends = [number for number, after in pairwise((*numbers, -2)) if after != number + 1]
    runs = (str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
    return f"shard{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"
