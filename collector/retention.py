"""Deletes ("retires") tallies when their retention period is over or a command requests it.

Only tallies of closed windows are retired. The windows remain closed, so later reports are refused
and cannot recreate a tally. Upload ids expire by themselves.

Each shard has a part of every tally. So that no reader adds up only some of the parts, a retirement
has two steps. First, the tally's name is removed from the index of every shard; then the counts are
deleted. After reading a tally, a reader checks the index again. If the tally is still in the index,
its counts were complete.

During a retirement, the set ``{shard}:going`` contains the tally's name (see
`collector.store.keys`). The next retirement finishes an interrupted retirement. Meanwhile, readers
get no tally of the same metric and window (see `RedisStore`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from collector.config import DAY_S, HOUR_S
from collector.errors import StoreUnavailableError
from collector.store import keys
from collector.store.redis_store import RedisStore

RETRY_INTERVAL_S = 60.0
"""Seconds after which a failed retirement is tried again. Retirement is not urgent."""

_log = logging.getLogger(__name__)

TAKE_OUT_OF_INDEX = """
-- Moves the names of tallies of closed windows from the index to the set of tallies that are being retired.
-- Then removes windows without a tally from the set of windows with a tally.
-- KEYS[1]: the key of the shard's set of closed windows.
-- KEYS[2]: the key of the shard's index of tallies.
-- KEYS[3]: the key of the shard's set of windows with a tally.
-- KEYS[4]: the key of the shard's set of tallies that are being retired.
-- ARGV: the names of the tallies.
for _, name in ipairs(ARGV) do
  local is_closed = redis.call('SISMEMBER', KEYS[1], string.match(name, '[^:]+$')) == 1
  if is_closed and redis.call('HDEL', KEYS[2], name) == 1 then redis.call('SADD', KEYS[4], name) end
end
local left = {}
for _, name in ipairs(redis.call('HKEYS', KEYS[2])) do left[string.match(name, '[^:]+$')] = true end
for _, window in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  if not left[window] then redis.call('SREM', KEYS[3], window) end
end
"""

NAMES_A_SCRIPT = 1000
"""The maximum number of names per script. A thousand names delay uploads by a millisecond."""


class TallyName(NamedTuple):
    """The identity of a tally. The edition determines the meaning of the reports."""

    metric: str
    edition: str
    window: str


class Retirable(Protocol):
    """A store with tallies that can be retired (deleted).

    Every method raises StoreUnavailableError if the store does not respond.
    """

    def closed_windows(self) -> frozenset[str]:
        """Return the names of the closed windows."""

    def tally_names(self) -> frozenset[TallyName]:
        """Return the names of all tallies."""

    def retire(self, names: Collection[TallyName]) -> None:
        """Delete tallies of closed windows for good, and finish interrupted retirements.

        A reader gets a complete tally or no tally.
        """


def before(store: Retirable, first_kept: Window) -> list[TallyName]:
    """Return the tallies of closed windows that ended before a given window began."""
    closed = store.closed_windows()
    return sorted(
        name
        for name in store.tally_names()
        if name.window in closed and Window.parse(name.window).ends_at <= first_kept.starts_at
    )


def expired(store: Retirable, registry: Registry, *, now_s: float, grace_s: int) -> list[TallyName]:
    """Return the tallies of closed windows whose retention period is over.

    The retention period begins at the end of the grace period. Tallies of metrics without a
    retention period are left out.
    """
    # former definitions come first, so that the current definition overrides them
    every = {metric.name: metric.retention_days for metric in registry.counted}
    days = {name: retention_days for name, retention_days in every.items() if retention_days}
    closed = store.closed_windows() if days else frozenset()
    return sorted(
        name
        for name in (store.tally_names() if days else ())
        if name.metric in days
        and name.window in closed
        and now_s >= Window.parse(name.window).ends_at + grace_s + days[name.metric] * DAY_S
    )


class Retention:
    """Deletes the tallies whose retention period is over, at most once an hour."""

    def __init__(
        self,
        store: Retirable,
        registry: Callable[[], Registry],
        *,
        grace_s: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Store the arguments. Nothing is deleted yet."""
        self._store = store
        self._registry = registry
        self._grace_s = grace_s
        self._clock = clock
        self._next_s = float("-inf")

    def __call__(self) -> None:
        """Delete the tallies whose retention period is over, at most once an hour.

        After a failure, try again RETRY_INTERVAL_S later.
        """
        now_s = self._clock()
        # if the next time is more than an hour ahead, the clock was set back: do not wait
        if 0 < self._next_s - now_s <= HOUR_S:
            return
        self._next_s = now_s + HOUR_S
        try:
            registry = self._registry()
            names = expired(self._store, registry, now_s=now_s, grace_s=self._grace_s)
            if any(metric.retention_days for metric in registry.counted):
                # even without names, this call finishes an interrupted retirement
                self._store.retire(names)
            if names:
                _log.info("retired %s tallies at the end of their retention", len(names))
        except StoreUnavailableError as error:
            # a failure must not stop the other periodic tasks, which close windows
            _log.warning("tallies at the end of their retention could not be retired yet: %s", error)
            self._next_s = now_s + RETRY_INTERVAL_S


class RedisRetirement:
    """Deletes ("retires") the tallies of a store (see Retirable)."""

    def __init__(self, store: RedisStore) -> None:
        """Use a store whose ``prepare`` method has been called."""
        self._store = store

    def closed_windows(self) -> frozenset[str]:
        """See Retirable."""
        return self._store.closed_windows()

    def tally_names(self) -> frozenset[TallyName]:
        """See Retirable."""
        return frozenset(TallyName(*name.split(":")) for name in self._store.index())

    def begun(self) -> frozenset[TallyName]:
        """Return the tallies whose deletion was interrupted.

        The next call of `retire` finishes it.
        """
        return frozenset(TallyName(*name.split(":")) for name in self._all_going())

    def retire(self, names: Collection[TallyName]) -> None:
        """See Retirable."""
        going = self._all_going().union(":".join(name) for name in names)
        for shard in range(self._store.layout.shards):
            self._take_out_of_index(shard, sorted(going))
        for shard in range(self._store.layout.shards):
            self._forget_counts(shard)

    def _take_out_of_index(self, shard: int, names: list[str]) -> None:
        touched = [keys.of_shard(shard, name) for name in (keys.CLOSED, keys.TALLIES, keys.WINDOWS, keys.GOING)]
        for start in range(0, len(names), NAMES_A_SCRIPT):
            part = names[start : start + NAMES_A_SCRIPT]
            self._store.run(shard, "EVAL", TAKE_OUT_OF_INDEX, len(touched), *touched, *part)

    def _forget_counts(self, shard: int) -> None:
        names = sorted(self._going(shard))
        for start in range(0, len(names), NAMES_A_SCRIPT):
            part = names[start : start + NAMES_A_SCRIPT]
            self._store.run(shard, "UNLINK", *(keys.tally(shard, name) for name in part))
            self._store.run(shard, "SREM", keys.of_shard(shard, keys.GOING), *part)

    def _all_going(self) -> set[str]:
        return set[str]().union(*map(self._going, range(self._store.layout.shards)))

    def _going(self, shard: int) -> set[str]:
        return {name.decode() for name in self._store.run(shard, "SMEMBERS", keys.of_shard(shard, keys.GOING))}
