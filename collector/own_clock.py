"""Suspects this host's clock if every report is refused because of its window.

A store on the same host has the same clock, so comparing the two clocks would show nothing. But
refused reports reveal a wrong clock. If only some devices have wrong clocks, other reports are
still accepted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from client_sdk.protocol.wire.verdict import Refusal
from collector.counters import ACCEPTED, REPORTS, Totals
from collector.log import Event

SUSPICIOUS = 100
"""The clock is suspected once this many consecutive reports were refused because of their windows.

A single upload can contain 256 reports. While no device sends reports, an attacker can therefore
cause the suspicion. The next accepted report ends the suspicion.
"""

_log = logging.getLogger(__name__)


class WindowVerdicts(NamedTuple):
    """The numbers of reports since the collector started, grouped by the verdict on their windows.

    Attributes:
        in_future: the number of reports that were refused because their windows had not begun.
        closed: the number of reports that were refused because their windows were closed.
    """

    accepted: int
    in_future: int
    closed: int

    @classmethod
    def from_totals(cls, totals: Totals) -> WindowVerdicts:
        """Read the numbers from the counters of all workers."""
        labels = (ACCEPTED, Refusal.WINDOW_IN_FUTURE, Refusal.WINDOW_CLOSED)
        return cls(*(totals.total(REPORTS, label) for label in labels))


class OwnClockWatch:
    """Suspects the clock once the windows of SUSPICIOUS consecutive reports were not open.

    Refused reports are consecutive if no check between them found an accepted report. The log says
    when the suspicion begins and ends.
    """

    def __init__(self, look: Callable[[], WindowVerdicts]) -> None:
        """Start without a suspicion. ``look`` returns the numbers of reports so far."""
        self._look = look
        self._start = WindowVerdicts(0, 0, 0)
        self._is_suspected = False

    def __call__(self) -> bool:
        """Return whether this host's clock is suspected to be wrong."""
        present = self._look()
        if present.accepted > self._start.accepted:
            self._start = present
            if self._is_suspected:
                _log.info(
                    "reports are accepted again, so this host's clock is trusted", extra=Event.CLOCK_TRUSTED.extra
                )
            self._is_suspected = False
        in_future, closed = present.in_future - self._start.in_future, present.closed - self._start.closed
        if in_future + closed >= SUSPICIOUS and not self._is_suspected:
            _log.warning(
                (
                    "this host's clock may be %s: the last %d reports were all refused, %d because their windows "
                    "are in the future and %d because their windows are closed. All these reports are lost: check "
                    "the clock (timedatectl) and synchronize it"
                ),
                "behind" if in_future >= closed else "ahead",
                in_future + closed,
                in_future,
                closed,
                extra=Event.CLOCK_SUSPECTED.extra,
            )
            self._is_suspected = True
        return self._is_suspected
