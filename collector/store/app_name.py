"""The app that a store belongs to: the one whose registry it was first served under."""

from __future__ import annotations

from collector.errors import ConfigError
from collector.store import keys
from collector.store.schema import APP_FIELD
from collector.store.shards import Shards


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
