"""Compares the clocks of a store's servers with this machine's clock, and warns if they differ."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from collector.errors import StoreUnavailableError
from collector.log import Event
from collector.redis_servers.connection import Connection
from collector.redis_servers.server import ask

APART_S = 60.0
"""The smallest difference between two clocks, in seconds, for which a warning is logged.

Synchronized clocks differ by less than a second. A collector whose clock is over ten minutes behind
refuses reports for windows that have just begun.
"""

TOGETHER_S = 30.0
"""The warning ends when two clocks differ by less than this, in seconds.

If this limit and `APART_S` were equal, a difference near the limit would cause many warnings.
"""

LOOK_INTERVAL_S = 60.0

_UNITS = ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))

_log = logging.getLogger(__name__)


def clock_ahead_s(connection: Connection) -> float:
    """Return the seconds by which the server's clock is ahead of this machine's clock."""
    asked_s = time.time()
    seconds, microseconds = ask(connection, "TIME")
    answered_s = time.time()
    return int(seconds) + int(microseconds) / 1e6 - (asked_s + answered_s) / 2


def farthest(ahead_s: Iterable[float]) -> float:
    """Return the difference with the largest absolute value. It is negative if a server lags."""
    return max(ahead_s, key=abs)


def describe(ahead_s: float) -> str:
    """Return a message that states the difference between two clocks, and how to correct it."""
    size_s = round(abs(ahead_s))
    divisor, unit = next((seconds, unit) for seconds, unit in _UNITS if size_s >= 2 * seconds)
    side = "ahead of" if ahead_s > 0 else "behind"
    return (
        f"the clock of a server of the store is {size_s // divisor} {unit} {side} this machine's. Synchronize "
        "both clocks: a collector with a wrong clock loses reports"
    )


class ClockWatch:
    """Checks the servers' clocks from time to time.

    The log says when a server's clock differs too much from this machine's, and when all clocks
    agree again.
    """

    def __init__(self, look: Callable[[], Iterable[float]], monotonic: Callable[[], float] = time.monotonic) -> None:
        """Store a function that returns the seconds by which each server's clock is ahead."""
        self._look = look
        self._monotonic = monotonic
        self._next_s = float("-inf")
        self._has_warned = False

    def __call__(self) -> None:
        """Check the clocks if a check is due."""
        now_s = self._monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + LOOK_INTERVAL_S
            with suppress(StoreUnavailableError):  # maintenance checks more often, and logs that the store is down
                self._take(farthest(self._look()))

    def _take(self, ahead_s: float) -> None:
        if abs(ahead_s) >= APART_S and not self._has_warned:
            _log.warning(describe(ahead_s), extra=Event.CLOCKS_APART.extra)
            self._has_warned = True
        elif abs(ahead_s) < TOGETHER_S and self._has_warned:
            _log.info("the clocks of the store and of this machine agree again", extra=Event.CLOCKS_AGREE.extra)
            self._has_warned = False
