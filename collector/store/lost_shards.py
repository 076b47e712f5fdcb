"""Goes on with what is left of a store that has lost shards."""

from __future__ import annotations

from collector.servers.command import even_when_full
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.schema import NAME_FIELD, NAMED, NAMED_FIELD, SCHEMA, SCHEMA_FIELD, SHARDS_FIELD
from collector.store.shard_identity import name_to_go_on_with, numbered


def accept_lost_shards(store: RedisStore) -> list[str]:
    """Have the shards that are lost begin anew as the store's own, and return what stays lost.

    The name comes last: until then nothing is counted there. Collectors that run go on by themselves.

    Raises:
        ConfigError: if servers hold parts of several stores.
        StoreUnavailableError: if a server does not answer; do it again.

    """
    store.require_promise()
    facts = store.facts()
    shards = int(facts.get(SHARDS_FIELD, store.shards_of_new))
    borne = store.shard_names(shards)
    name = name_to_go_on_with(facts, borne)
    if name is None or (NAMED_FIELD not in facts and facts.get(NAME_FIELD) == name):  # naming them is not finished
        return []
    lost = [shard for shard in range(shards) if borne[shard] is None]
    losses = []
    if lost:
        _close_where_lost(store, lost, [shard for shard in range(shards) if shard not in lost])
        store.name_shards(lost, name)
        losses.append(f"{numbered(lost)} of {shards}, with the tallies and remembered uploads on them")
    if NAMED_FIELD not in facts:
        store.tell(*even_when_full("HSETNX", keys.STORE, SCHEMA_FIELD, SCHEMA))
        store.tell(*even_when_full("HSETNX", keys.STORE, SHARDS_FIELD, shards))
        store.tell(*even_when_full("HSET", keys.STORE, NAME_FIELD, name, NAMED_FIELD, NAMED))
        losses.append("what the store said of itself: start collectors with the --grace that they had")
    return losses


def _close_where_lost(store: RedisStore, lost: list[int], left: list[int]) -> None:
    """Close on shards what the others have closed: a window that was closed early would take reports again."""
    closed = [store.run(shard, "SMEMBERS", keys.of_shard(shard, keys.CLOSED)) for shard in left]
    windows = set.intersection(*map(set, closed)) if closed else set()
    for shard in lost if windows else ():
        store.run(shard, *even_when_full("SADD", keys.of_shard(shard, keys.CLOSED), *sorted(windows)))
