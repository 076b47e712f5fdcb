"""Makes a store ready for use: its promise, its schema, its number of shards and its name."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from collector.redis_servers.command import even_when_full
from collector.store import keys
from collector.store.schema import (
    NAME_FIELD,
    NAMED,
    NAMED_FIELD,
    SCHEMA,
    SCHEMA_FIELD,
    SHARDS_FIELD,
    Purpose,
    require_usable,
)
from collector.store.shard_identity import require_facts, shards_to_name
from collector.store.shards import Shards

NAME_BYTES = 8
"""Enough that no two stores have the same name."""


def prepare(store: Shards, purpose: Purpose = Purpose.USE) -> None:
    """Agree on schema and shards, and make sure that every server keeps the promise.

    A store that is to be read only is left as it is.

    Raises:
        ConfigError: if the store has another schema, is too old, cannot keep the promise, holds
            part of a backup, has lost shards, or is to be read and was never used.
        StoreUnavailableError: if the store does not answer.

    """
    store.expect_any()
    store.require_promise()
    shard_names = store.names(store.number_of_new)
    facts = store.facts()
    require_facts(facts, shard_names)
    if purpose is Purpose.READ:
        require_usable(facts, purpose)
        store.adopt(facts)
        return
    for field, value in (
        (SCHEMA_FIELD, SCHEMA),
        (SHARDS_FIELD, store.number_of_new),
        (NAME_FIELD, secrets.token_hex(NAME_BYTES)),
    ):
        store.run_on_facts(*even_when_full("HSETNX", keys.STORE, field, value))
    facts = store.facts()
    require_usable(facts, purpose)
    _name_all_shards(store, facts)
    store.adopt({**facts, NAMED_FIELD: NAMED})


def _name_all_shards(store: Shards, facts: Mapping[str, str]) -> None:
    """Write the store's name to every shard, unless some have had it and lost it.

    Another collector may do the same at the same time: both write the same name.
    """
    unnamed = shards_to_name(facts, store.names(int(facts[SHARDS_FIELD])))
    store.name(unnamed, facts[NAME_FIELD])
    store.run_on_facts(*even_when_full("HSET", keys.STORE, NAMED_FIELD, NAMED))
