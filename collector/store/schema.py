"""The schema of what is stored, and whether a store may be used. Pure: the store's facts in, refusal out.

The schema changes when an older version would read what is stored wrongly; new keys that an older version does not look
for change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from collector.errors import ConfigError

SCHEMA = 2
"""What this version reads and writes. Schema 1 remembered uploads of which nothing was counted, with every refusal, in
trees of buckets whose ways were chosen by whoever chose the ids."""

SCHEMA_FIELD, SHARDS_FIELD, GRACE_FIELD, NAME_FIELD = "schema", "shards", "grace", "name"
"""Fields of the store's facts, written at first use: see `keys.STORE`."""

APP_FIELD = "app"
"""A field of the same: the app whose registry the store is served under."""

NAMED_FIELD, NAMED = "named", "1"
"""A field of the same: there once every shard bears the store's name; a shard without it is lost from then on."""

IMPORTING, IMPORTED = "importing", "imported"
"""Fields of the same: the digest of the backup that is being imported, and of the one that was."""


class Purpose(Enum):
    """What a store is opened for."""

    USE = auto()
    IMPORT = auto()
    UPGRADE = auto()


def require_usable(facts: Mapping[str, str], purpose: Purpose = Purpose.USE, schema: int = SCHEMA) -> None:
    """Refuse a store that is of another schema, or has only a part of a backup.

    Args:
        facts: what the store says of itself.
        purpose: what it is opened for: an older one may be upgraded, one with a part of a backup may get the rest.
        schema: the schema that is read and written.

    Raises:
        ConfigError: saying what to do.

    """
    found = int(facts[SCHEMA_FIELD])
    if found > schema:
        raise ConfigError(
            f"the store has schema {found}, and this version reads {schema}: use the version of Hearsay that wrote it, "
            "or a later one"
        )
    if found < schema and purpose is not Purpose.UPGRADE:
        raise ConfigError(
            f"the store has schema {found}, and this version reads {schema}: stop every collector on it, take a backup "
            "with the version that wrote it, and run hearsay-collector upgrade"
        )
    if IMPORTING in facts and purpose is not Purpose.IMPORT:
        raise ConfigError("the import of a backup into the store is not finished: run hearsay-collector import again")
