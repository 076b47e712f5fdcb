"""The grace period that a store remembers upload ids by."""

from __future__ import annotations

from collector.errors import ConfigError
from collector.redis_servers.command import even_when_full
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.schema import GRACE_FIELD


def agree_on_grace(store: RedisStore, grace_s: int) -> None:
    """Write the grace period, in seconds, to a store.

    Raises:
        ConfigError: if it is longer than before while windows are open. The store would forget
            their ids before they close, so an upload that comes again could be counted twice.

    """
    before = store.handle.run_on_facts("HGET", keys.STORE, GRACE_FIELD)
    open_windows = store.tallied_windows() - store.closed_windows()
    if before is not None and int(before) < grace_s and open_windows:
        raise ConfigError(
            f"--grace can grow from {int(before)} seconds only when no window with reports is open; "
            f"open are: {', '.join(sorted(open_windows))}"
        )
    store.handle.run_on_facts(*even_when_full("HSET", keys.STORE, GRACE_FIELD, grace_s))
