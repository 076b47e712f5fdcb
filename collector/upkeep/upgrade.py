"""Upgrades a store from an older version's schema to this version's, step by step.

A step that breaks off is done again, so it must reach the same result from wherever it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from collector.backup.store_filler import StoreFiller
from collector.backup.store_reader import StoreReader
from collector.errors import ConfigError
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.schema import SCHEMA, SCHEMA_FIELD

Step: TypeAlias = Callable[[RedisStore], None]


def _move_ids(store: RedisStore) -> None:
    """Move the ids of schema 1, bucket by bucket, to where schema 2 looks for them.

    Ids of uploads without a counted report are dropped.
    """
    reader, filler = StoreReader(store), StoreFiller(store)
    for shard in range(store.shards):
        for stored in reader.buckets(shard, keys.IDS_OF_SCHEMA_1):
            filler.remember([stored.bucket])
            store.handle.run(shard, "UNLINK", stored.key)


STEPS: Mapping[int, Step] = {1: _move_ids}
"""The step from each schema to the next."""

LOCK_S = 3600
"""Seconds for which an upgrade that died holds up the next one."""


def upgrade(
    store: RedisStore, steps: Mapping[int, Step] = STEPS, schema: int = SCHEMA, *, is_alone: bool = False
) -> tuple[int, int]:
    """Upgrade a store while no collector runs on it.

    Args:
        store: the store, opened for an upgrade.
        steps: the step from each schema to the next.
        schema: the schema to reach.
        is_alone: whether nobody else can use the store. Then a sign of another upgrade was left by
            one that died.

    Returns:
        The schemas before and after.

    Raises:
        ConfigError: if another upgrade is under way, or a step is missing.
        StoreUnavailableError: if the store does not answer; call this again.

    """
    if is_alone:
        store.handle.run_on_facts("UNLINK", keys.UPGRADING)
    if not store.handle.run_on_facts("SET", keys.UPGRADING, 1, "NX", "EX", LOCK_S):
        raise ConfigError("another upgrade of the store is under way: wait until it ends, or an hour if it broke off")
    try:
        before = int(store.handle.run_on_facts("HGET", keys.STORE, SCHEMA_FIELD))
        missing = [number for number in range(before, schema) if number not in steps]
        if missing:
            raise ConfigError(
                f"this version cannot upgrade a store of schema {before}: upgrade with an earlier version first"
            )
        for number in range(before, schema):
            steps[number](store)
            store.handle.run_on_facts("HSET", keys.STORE, SCHEMA_FIELD, number + 1)
        return before, schema
    finally:
        store.handle.run_on_facts("UNLINK", keys.UPGRADING)
