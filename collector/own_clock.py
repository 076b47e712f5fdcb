"""Detects that this host's clock may be wrong, because every report is refused for its window.

A store on the same host has the same clock, so comparing the clocks of host and store would show
nothing. However, reports reveal a wrong clock. If the clocks of some devices are wrong, reports
from the other devices still count. If this host's clock is wrong, no report counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from client_sdk.protocol.wire.verdict import Refusal
from collector.counters import ACCEPTED, REPORTS, Totals
from collector.log import Event

SUSPICIOUS = 100
"""If this many consecutive reports are refused for their windows, the clock is suspected.

One upload can contain 256 reports. Therefore a forger can make the clock suspect while no other
device sends reports. The suspicion ends with the next report that counts.
"""

_log = logging.getLogger(__name__)


class WindowVerdicts(NamedTuple):
    """The number of reports with each verdict since the collector started.

    Other refusals are left out, because they say nothing about a clock.

    Attributes:
        accepted: reports that counted.
        in_future: reports of windows that had not begun.
        closed: reports of windows that no longer accepted reports.

    """

    accepted: int
    in_future: int
    closed: int

    @classmethod
    def from_totals(cls, totals: Totals) -> WindowVerdicts:
        """Read the numbers from the sums over all workers."""
        labels = (ACCEPTED, Refusal.WINDOW_IN_FUTURE, Refusal.WINDOW_CLOSED)
        return cls(*(totals.total(REPORTS, label) for label in labels))


class OwnClockWatch:
    """Suspects the clock after `SUSPICIOUS` consecutive reports were refused for their windows.

    Refusals are consecutive if no check between them found an accepted report. A line is logged
    when the suspicion begins, and another line when a report counts again.
    """

    def __init__(self, look: Callable[[], WindowVerdicts]) -> None:
        """Store the function that returns the sums.

        Args:
            look: returns the current sums, which never decrease.

        """
        self._look = look
        self._start = WindowVerdicts(0, 0, 0)
        self._is_suspected = False

    def __call__(self) -> bool:
        """Check the sums, and return whether the clock is suspected."""
        present = self._look()
        if present.accepted > self._start.accepted:
            self._start = present
            if self._is_suspected:
                _log.info("a report was accepted again: this host's clock is trusted", extra=Event.CLOCK_TRUSTED.extra)
            self._is_suspected = False
        in_future, closed = present.in_future - self._start.in_future, present.closed - self._start.closed
        if in_future + closed >= SUSPICIOUS and not self._is_suspected:
            _log.warning(
                (
                    "this host's clock may be %s: the last %d reports were all refused, %d because their windows "
                    "are in the future and %d because they are closed. All these reports are lost: check the clock "
                    "(timedatectl) and synchronize it"
                ),
                "behind" if in_future >= closed else "ahead",
                in_future + closed,
                in_future,
                closed,
                extra=Event.CLOCK_SUSPECTED.extra,
            )
            self._is_suspected = True
        return self._is_suspected
