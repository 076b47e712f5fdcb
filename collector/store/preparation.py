"""Prepares a store for use: checks its servers, and records its schema, shards, name and app.

If a store has lost shards, an operator can accept the loss and continue with the other shards.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from collector.errors import ConfigError
from collector.redis_servers.connection import even_when_full
from collector.store import keys
from collector.store.facts import (
    APP_FIELD,
    NAME_FIELD,
    NAMED,
    NAMED_FIELD,
    SCHEMA,
    SCHEMA_FIELD,
    SHARDS_FIELD,
    Purpose,
    name_to_go_on_with,
    numbered,
    require_facts,
    require_usable,
    shards_to_name,
)
from collector.store.shards import Shards

NAME_BYTES = 8
"""The number of random bytes in a store's name. Two stores are unlikely to get the same name."""


def prepare(store: Shards, purpose: Purpose = Purpose.USE) -> None:
    """Check a store and its servers, and set up a store that is new.

    A new store gets its schema, its number of shards, and a name. The name is written to every
    shard. A store that is opened only for reading is not changed.

    Raises:
        ConfigError: if a server is too old or does not provide the required durability. Also raised
            if the store has a different schema, contains only part of a backup, has lost shards, or
            is opened for reading before its first use.
        StoreUnavailableError: if the store does not respond.
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
    """Write the store's name to every shard that has no name yet.

    Another collector may write the same name at the same time.

    Raises:
        ConfigError: if a shard is lost or belongs to another store.
    """
    unnamed = shards_to_name(facts, store.names(int(facts[SHARDS_FIELD])))
    store.name(unnamed, facts[NAME_FIELD])
    store.run_on_facts(*even_when_full("HSET", keys.STORE, NAMED_FIELD, NAMED))


def app_of(store: Shards) -> str | None:
    """Return the name of the app to which the store belongs, or None if no app is recorded."""
    return store.facts().get(APP_FIELD)


def require_app(owner: str | None, app: str) -> None:
    """Refuse a store whose app, ``owner``, is not ``app``.

    If ``owner`` is None, the app is unknown, and the store is accepted.

    Raises:
        ConfigError: if the apps differ.
    """
    if owner not in (None, app):
        raise ConfigError(
            f"the store belongs to the app {owner}, but the registry belongs to {app}. Reports of both apps would be "
            f"added to the same tallies: start with the registry of {owner}, or with another store. If the app was "
            "renamed, start once with --rename-app"
        )


def agree_on_app(store: Shards, app: str, *, renames: bool = False) -> None:
    """Record the app to which the store belongs, unless an app is already recorded.

    With ``renames``, replace the recorded name.

    Raises:
        ConfigError: if the store belongs to an app other than ``app``, and ``renames`` is false.
    """
    store.run_on_facts("HSET" if renames else "HSETNX", keys.STORE, APP_FIELD, app)
    require_app(app_of(store), app)


def accept_lost_shards(store: Shards) -> list[str]:
    """Make lost shards a part of the store again. These shards begin empty.

    Nothing is counted in a shard without the store's name. Before the name is written to a lost
    shard, the windows that are closed in the other shards are closed in the lost shard, too.
    Running collectors then continue without a restart.

    Returns:
        Descriptions of the permanently lost data, for people.

    Raises:
        ConfigError: if the servers contain parts of several stores.
        StoreUnavailableError: if a server does not respond. Then call this function again.
    """
    store.require_promise()
    facts = store.facts()
    shards = int(facts.get(SHARDS_FIELD, store.number_of_new))
    shard_names = store.names(shards)
    name = name_to_go_on_with(facts, shard_names)
    if name is None or (NAMED_FIELD not in facts and facts.get(NAME_FIELD) == name):
        # no shard is lost: the store is new, or not every shard has received its name yet
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
        losses.append("the store's basic properties: start collectors with the same registry and --grace as before")
    return losses


def _close_where_lost(store: Shards, lost: list[int], left: list[int]) -> None:
    """Close, on the lost shards, the windows that are closed on the other shards.

    Otherwise, windows that were closed early would accept reports again.
    """
    closed = [store.run(shard, "SMEMBERS", keys.of_shard(shard, keys.CLOSED)) for shard in left]
    windows = set.intersection(*map(set, closed)) if closed else set()
    for shard in lost if windows else ():
        store.run(shard, *even_when_full("SADD", keys.of_shard(shard, keys.CLOSED), *sorted(windows)))
