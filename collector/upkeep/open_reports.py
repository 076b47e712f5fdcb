"""Counts the reports of open windows for the metrics, by the same look that everybody else gets.

A count that is renewed with every scrape would say when each report of a metric came. So this takes
what a preliminary report shows, as often as that is renewed, and adds up the symbols. It does not
look before an interval is over: who tries out a new service would get that empty look for an hour.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping

from collector.errors import StoreUnavailableError
from collector.store.store_protocol import TallyStore
from collector.store.windows import look_at_open_windows

RETRY_S = 60.0
"""Seconds until a look that the store refused is tried again."""

_log = logging.getLogger(__name__)


class OpenReports:
    """Looks at open windows when the last look is old enough."""

    def __init__(
        self,
        store: TallyStore,
        *,
        grace_s: int,
        interval_s: int,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to look for the first time in ``interval_s`` seconds.

        Args:
            store: the store whose windows are looked at.
            grace_s: seconds after its end during which a window still takes reports.
            interval_s: minimum number of seconds between two looks.
            clock: returns Unix seconds.
            monotonic: returns seconds that never go back.

        """
        self._store = store
        self._grace_s = grace_s
        self._interval_s = interval_s
        self._clock = clock
        self._monotonic = monotonic
        self._next_s = monotonic() + interval_s
        self._reports: Mapping[tuple[str, str], int] = {}

    def __call__(self) -> Mapping[tuple[str, str], int]:
        """Return the reports by metric and window, as the last look shows them.

        Without a look there are none: an old count would pass for a present one.
        """
        if self._monotonic() < self._next_s:
            return self._reports
        try:
            self._reports, lasts_s = self._look()
        except StoreUnavailableError as error:
            _log.warning("the reports of open windows are missing from the metrics: %s", error)
            self._reports, lasts_s = {}, RETRY_S
        self._next_s = self._monotonic() + lasts_s
        return self._reports

    def _look(self) -> tuple[Mapping[tuple[str, str], int], float]:
        """Return the reports, and the seconds until another look is allowed."""
        now_s = self._clock()
        closed = self._store.closed_windows()
        look = look_at_open_windows(
            self._store, closed, now_s=now_s, interval_s=self._interval_s, grace_s=self._grace_s
        )
        reports: Counter[tuple[str, str]] = Counter()
        for tally in look:
            reports[tally.metric, tally.window] += sum(tally.counts)
        # a look that was taken while the clock was ahead must not hold up the next one for as long
        return reports, min(self._interval_s, max(1.0, look.taken_s + self._interval_s - now_s))
