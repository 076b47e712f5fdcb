"""Whose tallies a store holds: the name of the app whose registry it was first served under."""

from __future__ import annotations

from collector.errors import ConfigError
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.schema import APP_FIELD


def app_of(store: RedisStore) -> str | None:
    """Return the app's name; none where the store was not served since names are kept."""
    return store.facts().get(APP_FIELD)


def require_app(named: str | None, app: str) -> None:
    """Refuse a store that is another app's.

    Args:
        named: whose it is, if that is known.
        app: whose registry it would be served under.

    Raises:
        ConfigError: saying how to go on deliberately.

    """
    if named not in (None, app):
        raise ConfigError(
            f"the store is that of the app {named}, and the registry of {app}, whose reports would be counted among "
            "the others: name that app's registry or another store; if the app has a new name, start once with "
            "--rename-app"
        )


def agree_on_app(store: RedisStore, app: str, *, renames: bool = False) -> None:
    """Keep the app's name in a store that has none yet, or that is to have another.

    Raises:
        ConfigError: if the store is another app's, and is not to be renamed.

    """
    store.tell("HSET" if renames else "HSETNX", keys.STORE, APP_FIELD, app)
    require_app(app_of(store), app)
