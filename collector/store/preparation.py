"""Makes a store ready for use: its promise, its schema, its shards, its name and its app."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from collector.errors import ConfigError
from collector.redis_servers.command import even_when_full
from collector.store import keys
from collector.store.schema import (
    APP_FIELD,
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


def app_of(store: Shards) -> str | None:
    """Return the app's name, or None if no version that writes it has served the store."""
    return store.facts().get(APP_FIELD)


def require_app(owner: str | None, app: str) -> None:
    """Refuse a store that belongs to another app.

    Args:
        owner: the app that the store belongs to, or None if that is not known.
        app: the app whose registry it would be served under.

    Raises:
        ConfigError: if they differ; it says how to go on deliberately.

    """
    if owner not in (None, app):
        raise ConfigError(
            f"the store is that of the app {owner}, and the registry of {app}, whose reports would be counted among "
            "the others: name that app's registry or another store; if the app has a new name, start once with "
            "--rename-app"
        )


def agree_on_app(store: Shards, app: str, *, renames: bool = False) -> None:
    """Write the app's name to a store that has none yet, or that is to be renamed.

    Raises:
        ConfigError: if the store belongs to another app and is not to be renamed.

    """
    store.run_on_facts("HSET" if renames else "HSETNX", keys.STORE, APP_FIELD, app)
    require_app(app_of(store), app)
