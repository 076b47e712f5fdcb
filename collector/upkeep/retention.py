"""How long tallies are kept: which are to go, by a metric's retention or by an operator's word. A port does it.

Only closed windows can go. They stay closed: a report of one is refused for ever after, and cannot bring it back.
Upload ids need no care: they expire by themselves, a day after their last window closed by the clock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from client_sdk.protocol import Registry, Window
from collector.config import DAY_S, HOUR_S
from collector.errors import StoreUnavailableError

RETRY_INTERVAL_S = 60.0
"""Seconds until it is tried again: nobody waits for it."""

_log = logging.getLogger(__name__)


class TallyName(NamedTuple):
    """Which tally.

    Attributes:
        metric: the metric's name.
        edition: what the reports mean.
        window: the window's name.

    """

    metric: str
    edition: str
    window: str


class Retirable(Protocol):
    """A store of which tallies can go; every method raises StoreUnavailableError where the store does not answer."""

    def closed_windows(self) -> frozenset[str]:
        """Return the names of the windows that were closed."""

    def tally_names(self) -> frozenset[TallyName]:
        """Return the names of all tallies."""

    def retire(self, names: Collection[TallyName]) -> None:
        """Remove tallies of closed windows for good; whoever reads meanwhile sees a tally whole or not at all."""


def before(store: Retirable, first_kept: Window) -> list[TallyName]:
    """Return the tallies of closed windows that ended when a window began, or earlier."""
    closed = store.closed_windows()
    return sorted(
        name
        for name in store.tally_names()
        if name.window in closed and Window.parse(name.window).ends_at <= first_kept.starts_at
    )


def expired(store: Retirable, registry: Registry, *, now_s: float, grace_s: int) -> list[TallyName]:
    """Return the tallies of closed windows that are kept no longer, by what the registry says of their metrics."""
    days = {name: metric.retention_days for name, metric in registry.metrics.items() if metric.retention_days}
    closed = store.closed_windows() if days else frozenset()
    return sorted(
        name
        for name in (store.tally_names() if days else ())
        if name.metric in days
        and name.window in closed
        and now_s >= Window.parse(name.window).ends_at + grace_s + days[name.metric] * DAY_S
    )


class Retention:
    """Retires what is kept no longer: a chore, called often, done at the start and hourly."""

    def __init__(
        self,
        store: Retirable,
        registry: Callable[[], Registry],
        *,
        grace_s: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take what to look after.

        Args:
            store: whose tallies.
            registry: returns the definitions as they are now.
            grace_s: seconds after its end during which a window still takes reports.
            clock: Unix seconds.

        """
        self._store = store
        self._registry = registry
        self._grace_s = grace_s
        self._clock = clock
        self._next_s = float("-inf")

    def __call__(self) -> None:
        """Retire what is due, unless that was done within the hour; try again soon where the store does not answer."""
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + HOUR_S
        try:
            names = expired(self._store, self._registry(), now_s=now_s, grace_s=self._grace_s)
            if names:
                self._store.retire(names)
                _log.info("retired %s tallies that are kept no longer", len(names))
        except StoreUnavailableError as error:  # the other chores, which close windows, must not wait for this one
            _log.warning("tallies that are kept no longer stay for now: %s", error)
            self._next_s = now_s + RETRY_INTERVAL_S
