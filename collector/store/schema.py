"""The schema of what is stored, and whether a store may be used.

Pure: the store's facts in, refusal out.

The schema changes when an older version would misread what is stored. New keys that older versions
do not look for change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from collector.errors import ConfigError

SCHEMA = 1
"""The schema that this version reads and writes."""

SCHEMA_FIELD, SHARDS_FIELD, GRACE_FIELD, NAME_FIELD = "schema", "shards", "grace", "name"
"""Fields of the store's facts, written at first use; see `keys`."""

APP_FIELD = "app"
"""The field of the facts that names the app whose registry the store is served under."""

NAMED_FIELD, NAMED = "named", "1"
"""The field, and its value, that says that every shard carries the store's name.

A shard without it is then lost.
"""

IMPORTING, IMPORTED = "importing", "imported"
"""The fields with the digests of the backup being imported, and of the imported one."""


class Purpose(Enum):
    """The purpose that a store is opened for."""

    USE = auto()
    READ = auto()
    IMPORT = auto()


def require_usable(facts: Mapping[str, str], purpose: Purpose = Purpose.USE) -> None:
    """Refuse a store that has another schema, or only part of a backup.

    Args:
        facts: the store's facts.
        purpose: what it is opened for. A store with part of a backup may be opened for the import
            of the rest. One that was never used cannot be read.

    Raises:
        ConfigError: if the store cannot be used; it says what to do.

    """
    if SCHEMA_FIELD not in facts:
        raise ConfigError("the store is empty, and was never used: name the one that a collector counts in")
    stored = int(facts[SCHEMA_FIELD])
    if stored != SCHEMA:
        raise ConfigError(
            f"the store has schema {stored}, and this version reads {SCHEMA}: use the version of Hearsay that wrote "
            "it, or a later one"
        )
    if IMPORTING in facts and purpose is not Purpose.IMPORT:
        raise ConfigError("the import of a backup into the store is not finished: run hearsay-collector import again")
