"""What becomes due without an answer: slots when a window begins, and counts when it has ended.

A metric with a slot is paid for when its window begins. If the metric is filled in, the slot gets
its report in that same transaction (`client_sdk.answers.fill_in` says what law this upholds).
Counts are reported when their window has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers import calendar, fill_in, participation
from client_sdk.answers.consent import Agreement
from client_sdk.answers.counters import CountReports, RunningCounts
from client_sdk.answers.randomized import Randomized
from client_sdk.ledger import slots
from client_sdk.protocol.coins import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry

if TYPE_CHECKING:
    import sqlite3

    RandomizeNow = Callable[[sqlite3.Connection, Metric, object], Randomized]


class Dues:
    """Carries out what the calendar asks, within a transaction of the ledger.

    Attributes:
        looks_ahead: whether anything can become due by the calendar alone, without being recorded.
        adds_up: whether anything is counted.
        counts: the counts that are kept in memory.
        counting: adds to counts, and reports them.
        has_leftovers: whether counts were deleted from the file, so that its log may still hold
            what is left of them.

    """

    def __init__(self, registry: Registry, agreement: Agreement, randomize: RandomizeNow) -> None:
        """Take the questions and the ceilings from the registry."""
        metrics = registry.metrics.values()
        self.looks_ahead = any(calendar.has_slots(registry, metric) for metric in metrics)
        self.adds_up = any(metric.kind.call != "record" for metric in metrics)
        self.counts = RunningCounts()
        self.counting = CountReports(registry, agreement, self.counts)
        # a process may have been killed
        self.has_leftovers = any(metric.persist for metric in metrics)
        self._registry = registry
        self._agreement = agreement
        self._randomize = randomize
        self._fills_in = any(metric.fill is not None for metric in metrics)

    def carry_out(self, connection: sqlite3.Connection, coins: Coins, instant_s: float, secret: bytes) -> None:
        """Do all that is due at an instant."""
        randomize = partial(self._randomize, connection)
        slots.drop_held(connection, lambda *key: self._agreement.asked(*key) is not None)
        # Slots come before counts that have ended: if a ceiling does not allow both, whether a
        # filled-in question reports must not tell whether anything was counted. `feasibility` finds
        # such ceilings.
        for window in calendar.due(self._registry, instant_s).windows:
            participation.open_slots(
                connection, self._registry, secret, window, instant_s, is_covered=self._agreement.is_covered
            )
        if self._fills_in:
            fill_in.fill_in(connection, self._agreement.asked, coins, randomize)
        # an earlier registry may have left counts
        if self.adds_up or connection.execute("SELECT 1 FROM counts LIMIT 1").fetchone():
            self.has_leftovers |= self.counting.report_ended(connection, coins, instant_s, randomize)
        slots.close_ended(connection, instant_s)
