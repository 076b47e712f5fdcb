"""From the schema of an older version to this one's, step by step.

A step may be broken off and is then done again: so it must lead to the same result from wherever it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from collector.backup.redis_archive import RedisArchive
from collector.errors import ConfigError
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.schema import SCHEMA, SCHEMA_FIELD

Step: TypeAlias = Callable[[RedisStore], None]


def _put_ids_anew(store: RedisStore) -> None:
    """Put the ids of schema 1 where schema 2 looks for them, a bucket at a time; those of which nothing counted go."""
    archive = RedisArchive(store)
    for shard in range(store.shards):
        for found in archive.buckets(shard, keys.IDS_OF_SCHEMA_1):
            archive.remember([found.bucket])
            store.run(shard, "UNLINK", found.key)


STEPS: Mapping[int, Step] = {1: _put_ids_anew}
"""What leads from a schema to the next one."""

LOCK_S = 3600
"""An upgrade that died holds up the next one for no longer."""


def upgrade(store: RedisStore, steps: Mapping[int, Step] = STEPS, schema: int = SCHEMA) -> tuple[int, int]:
    """Bring a store to a schema, while no collector runs on it, and return the schemas before and after.

    Raises:
        ConfigError: if another upgrade is under way, or a step is missing.
        StoreUnavailableError: if the store does not answer; run it again.

    """
    if not store.tell("SET", keys.UPGRADING, 1, "NX", "EX", LOCK_S):
        raise ConfigError(
            "another upgrade of the store is under way: wait for its end, or an hour if it was broken off"
        )
    try:
        before = int(store.tell("HGET", keys.STORE, SCHEMA_FIELD))
        missing = [number for number in range(before, schema) if number not in steps]
        if missing:
            raise ConfigError(
                f"this version cannot upgrade a store of schema {before}: upgrade with an earlier one first"
            )
        for number in range(before, schema):
            steps[number](store)
            store.tell("HSET", keys.STORE, SCHEMA_FIELD, number + 1)
        return before, schema
    finally:
        store.tell("UNLINK", keys.UPGRADING)
