"""The facts of a store, and the checks that decide whether the store can be used.

This module does no IO.

The *facts* are basic properties of the store, such as the number of its shards (see `keys`).

The schema number changes only if older versions of Hearsay would misread the stored data.

At first use, the store's name is written to every shard. A shard that is emptied or replaced later
lacks the name. Once the facts record that every shard has received the name, a shard without the
name is considered lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from itertools import pairwise

from collector.errors import ConfigError
from collector.required_settings import Durability, Promise

SCHEMA = 1
"""The schema that this version reads and writes."""

SCHEMA_FIELD, SHARDS_FIELD, NAME_FIELD = "schema", "shards", "name"
"""Fields of the store's facts, written at first use; see `keys`."""

GRACE_FIELD, COPIES_FIELD = "grace", "copies"
"""Fields of the store's facts with the settings of the collector that started last."""

APP_FIELD = "app"
"""The field of the store's facts with the name of the app to which the store belongs."""

NAMED_FIELD, NAMED = "named", "1"
"""A field of the store's facts and its value, written once every shard has the store's name."""

IMPORTING, IMPORTED = "importing", "imported"
"""The fields that contain a backup's SHA-256 digest, during the import and after the import."""

WAY_OUT = (
    "bring back the original servers with their files, and start the collector again; or, to continue with the "
    "remaining data, run hearsay-collector store accept-loss with the options that name the store"
)


class Purpose(Enum):
    """The purpose for which a store is opened."""

    USE = auto()
    READ = auto()
    IMPORT = auto()


def require_usable(facts: Mapping[str, str], purpose: Purpose = Purpose.USE) -> None:
    """Refuse a store that is unused, has a different schema, or contains only part of a backup.

    With Purpose.IMPORT, a store that contains only part of a backup is accepted, so that the rest
    can be imported.

    Raises:
        ConfigError: if the store cannot be used.
    """
    if SCHEMA_FIELD not in facts:
        raise ConfigError("the store is empty and was never used: name the store of a collector")
    stored = int(facts[SCHEMA_FIELD])
    if stored != SCHEMA:
        raise ConfigError(
            f"the store has schema {stored}, and this version of Hearsay reads {SCHEMA}: start the version "
            "that wrote the store, or export a backup with that version and import the backup into an empty "
            "store with this version"
        )
    if IMPORTING in facts and purpose is not Purpose.IMPORT:
        raise ConfigError(
            "the import of a backup into the store is not finished: run hearsay-collector store import again"
        )


def promise_of(facts: Mapping[str, str]) -> Promise:
    """Return the durability of the collector that started last: ``replicated`` or ``fsync``."""
    copies = int(facts.get(COPIES_FIELD, 0))
    return Promise(Durability.REPLICATED if copies else Durability.FSYNC, copies)


def shards_to_name(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> list[int]:
    """Return the shards that do not have the store's name yet.

    ``shard_names`` contains the store name in each shard, or None for a shard without a name.

    Raises:
        ConfigError: if a shard is lost or belongs to another store.
    """
    others = [shard for shard, name in enumerate(shard_names) if name not in (None, facts.get(NAME_FIELD))]
    if others:
        raise ConfigError(f"another store's name is on {numbered(others)}: {WAY_OUT}")
    lost = [shard for shard, name in enumerate(shard_names) if name is None]
    if lost and NAMED_FIELD in facts:
        raise ConfigError(f"the store has lost {numbered(lost)}, and the acknowledged reports there: {WAY_OUT}")
    return lost


def require_facts(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> None:
    """Refuse a store that has lost its facts (basic properties), although a shard has its name.

    A new store gets its facts before its shards get the name. Therefore read the facts after the
    names of the shards.

    Raises:
        ConfigError: if the facts are missing. The message also says which shards are lost.
    """
    if facts or not any(shard_names):
        return
    lost = [shard for shard, name in enumerate(shard_names) if name is None]
    raise ConfigError(f"the store has lost the key hearsay:store, and {numbered(lost)}: {WAY_OUT}")


def name_to_go_on_with(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> str | None:
    """Return the store name that remains on the servers, or None if no name remains.

    The name in the facts is used only if every shard has received the name. Otherwise, the servers
    may have been emptied, and a collector may have mistaken them for a new store.

    Raises:
        ConfigError: if parts of several stores remain.
    """
    left = {name for name in shard_names if name is not None}
    if NAMED_FIELD in facts:
        left.add(facts[NAME_FIELD])
    if len(left) > 1:
        raise ConfigError("the servers contain parts of several stores: only you can tell which store to continue with")
    return next(iter(left), None)


def numbered(shards: Iterable[int]) -> str:
    """Return the sorted numbers of shards as text, such as "shards 3, 5-7", or "no shard"."""
    numbers = sorted(shards)
    if not numbers:
        return "no shard"
    starts = [number for before, number in pairwise((-2, *numbers)) if number != before + 1]
    ends = [number for number, after in pairwise((*numbers, -2)) if after != number + 1]
    runs = (str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
    return f"shard{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"
