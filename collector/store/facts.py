"""The facts of a store, and the checks that decide whether the store can be used. Without IO.

The *facts* are basic properties of the store, such as the number of its shards (see `keys`).

One fact is the number of the schema. If older versions would misread the data that a version of
Hearsay stores, this version has a new number. If a version only adds keys that older versions
ignore, the number stays the same.

Another fact is the store's name. When a store is first used, its name is written to every shard. If
a shard is emptied or replaced later, it does not have the name. Therefore, once the facts say that
every shard has received the name, a shard without the name is considered lost.
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
"""Fields with the settings of the collector that started last."""

APP_FIELD = "app"
"""The field with the name of the app to which the store belongs."""

NAMED_FIELD, NAMED = "named", "1"
"""A field that is written once every shard has received the store's name, and the field's value.

If the field exists, a shard without the name is considered lost.
"""

IMPORTING, IMPORTED = "importing", "imported"
"""The fields with the SHA-256 digest of a backup, during its import and after the import."""

WAY_OUT = (
    "bring back its servers with their files, and start the collector again; or, to continue with the "
    "remaining data, run hearsay-collector store accept-loss with the options that name the store"
)


class Purpose(Enum):
    """The purpose for which a store is opened."""

    USE = auto()
    READ = auto()
    IMPORT = auto()


def require_usable(facts: Mapping[str, str], purpose: Purpose = Purpose.USE) -> None:
    """Refuse a store that was never used, has another schema, or contains only part of a backup.

    Args:
        facts: the store's facts. Empty if the store was never used.
        purpose: the purpose of opening the store. If the store contains only part of a backup, it
            may be opened to import the rest, but for no other purpose.

    Raises:
        ConfigError: if the store cannot be used. The message says what to do.

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
    """Return the promise of the collector that started last. The default is ``fsync``."""
    copies = int(facts.get(COPIES_FIELD, 0))
    return Promise(Durability.REPLICATED if copies else Durability.FSYNC, copies)


def shards_to_name(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> list[int]:
    """Return the shards that do not have the store's name yet.

    Shards have no name if the store is new, or if only old versions of Hearsay have used it, which
    do not name stores.

    Args:
        facts: the store's facts.
        shard_names: for each shard, the store name that it has, or None.

    Raises:
        ConfigError: if a shard is lost or belongs to another store.

    """
    others = [shard for shard, name in enumerate(shard_names) if name not in (None, facts.get(NAME_FIELD))]
    if others:
        raise ConfigError(f"another store's name is on {numbered(others)}: {WAY_OUT}")
    lost = [shard for shard, name in enumerate(shard_names) if name is None]
    if lost and NAMED_FIELD in facts:
        raise ConfigError(f"the store has lost {numbered(lost)}, with the acknowledged reports in it: {WAY_OUT}")
    return lost


def require_facts(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> None:
    """Refuse a store whose facts are lost, although a shard has the store's name.

    Args:
        facts: the store's facts. A new store gets its facts before its shards get the name.
            Therefore the facts must be read after the names of the shards.
        shard_names: for each shard, the store name that it has, or None.

    Raises:
        ConfigError: if the facts are missing. The message also says which shards are lost.

    """
    if facts or not any(shard_names):
        return
    lost = [shard for shard, name in enumerate(shard_names) if name is None]
    raise ConfigError(f"the store has lost the key hearsay:store, and {numbered(lost)}: {WAY_OUT}")


def name_to_go_on_with(facts: Mapping[str, str], shard_names: Sequence[str | None]) -> str | None:
    """Return the name of the store whose parts are left on the servers, or None without a name.

    The name in the facts is used only if the facts also say that every shard has received it.
    Otherwise, a collector may have mistaken the emptied servers for a new store, and written facts
    with a new name.

    Args:
        facts: the facts that are left, which may be empty.
        shard_names: for each shard, the store name that it has, or None.

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
    """Return the numbers of shards for people, in order, such as "shards 3, 5-7", or "no shard"."""
    numbers = sorted(shards)
    if not numbers:
        return "no shard"
    starts = [number for before, number in pairwise((-2, *numbers)) if number != before + 1]
    ends = [number for number, after in pairwise((*numbers, -2)) if after != number + 1]
    runs = (str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
    return f"shard{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"
