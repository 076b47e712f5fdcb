"""Continues with what is left of a store that has lost shards."""

from __future__ import annotations

from collector.redis_servers.command import even_when_full
from collector.store import keys
from collector.store.schema import NAME_FIELD, NAMED, NAMED_FIELD, SCHEMA, SCHEMA_FIELD, SHARDS_FIELD
from collector.store.shard_identity import name_to_go_on_with, numbered
from collector.store.shards import Shards


def accept_lost_shards(store: Shards) -> list[str]:
    """Make lost shards empty shards of the store again.

    Their names are written last, and nothing is counted there before. Running collectors go on by
    themselves.

    Returns:
        Descriptions of what stays lost, for people.

    Raises:
        ConfigError: if the servers hold parts of several stores.
        StoreUnavailableError: if a server does not answer; call this again.

    """
    store.require_promise()
    facts = store.facts()
    shards = int(facts.get(SHARDS_FIELD, store.number_of_new))
    shard_names = store.names(shards)
    name = name_to_go_on_with(facts, shard_names)
    if name is None or (NAMED_FIELD not in facts and facts.get(NAME_FIELD) == name):
        # naming is not finished
        return []
    lost = [shard for shard in range(shards) if shard_names[shard] is None]
    losses = []
    if lost:
        _close_where_lost(store, lost, [shard for shard in range(shards) if shard not in lost])
        store.name(lost, name)
        losses.append(f"{numbered(lost)} of {shards}, with the tallies and remembered uploads on them")
    if NAMED_FIELD not in facts:
        store.run_on_facts(*even_when_full("HSETNX", keys.STORE, SCHEMA_FIELD, SCHEMA))
        store.run_on_facts(*even_when_full("HSETNX", keys.STORE, SHARDS_FIELD, shards))
        store.run_on_facts(*even_when_full("HSET", keys.STORE, NAME_FIELD, name, NAMED_FIELD, NAMED))
        losses.append("the store's facts: start collectors with the same registry and --grace as before")
    return losses


def _close_where_lost(store: Shards, lost: list[int], left: list[int]) -> None:
    """Close on lost shards what the others have closed.

    Otherwise windows closed early would take reports again.
    """
    closed = [store.run(shard, "SMEMBERS", keys.of_shard(shard, keys.CLOSED)) for shard in left]
    windows = set.intersection(*map(set, closed)) if closed else set()
    for shard in lost if windows else ():
        store.run(shard, *even_when_full("SADD", keys.of_shard(shard, keys.CLOSED), *sorted(windows)))
