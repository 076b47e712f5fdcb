"""The grace period that a store remembers upload ids by."""

from __future__ import annotations

from collections.abc import Mapping

from collector.errors import ConfigError
from collector.redis_servers.command import even_when_full
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.schema import GRACE_FIELD


def require_grace(store: RedisStore, facts: Mapping[str, str], grace_s: int) -> None:
    """Refuse a grace period, in seconds, that is longer than before while windows are open.

    The store would forget their ids before they close, so an upload that comes again could be
    counted twice.

    Raises:
        ConfigError: if so.

    """
    before = int(facts.get(GRACE_FIELD, grace_s))
    open_windows = store.tallied_windows() - store.closed_windows()
    if before < grace_s and open_windows:
        raise ConfigError(
            f"--grace can grow from {before} seconds only when no window with reports is open; "
            f"open are: {', '.join(sorted(open_windows))}"
        )


def agree_on_grace(store: RedisStore, grace_s: int) -> None:
    """Write the grace period, in seconds, to a store.

    Raises:
        ConfigError: if the store cannot be served with it.

    """
    require_grace(store, store.shards.facts(), grace_s)
    store.shards.run_on_facts(*even_when_full("HSET", keys.STORE, GRACE_FIELD, grace_s))
