"""Counts and days of use: added to while a window runs, reported when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from client_sdk.answers import calendar, counters, days_of_use, reporting
from client_sdk.answers.calendar import EndedCount, Phase
from client_sdk.answers.consent import Agreement, covers
from client_sdk.answers.counters import RunningCounts
from client_sdk.answers.randomized import Randomized
from client_sdk.ledger import charges, stops
from client_sdk.ledger.charges import Slot
from client_sdk.protocol.coins import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.results import Recorded

if TYPE_CHECKING:
    import sqlite3

Randomize = Callable[[Metric, object], Randomized]


@dataclass(frozen=True, slots=True)
class Counting:
    """Adds to counts and reports them, each within a transaction that the caller has begun."""

    registry: Registry
    coins: Coins
    agreement: Agreement
    counts: RunningCounts

    def add(self, connection: sqlite3.Connection, definition: Metric, by: int, instant_s: float) -> Recorded:
        """Add to the present window's count, or remember today as a day of use."""
        window = Window.of(definition.window, instant_s)
        key = reporting.key_of(connection, definition, window)
        if stops.is_stopped(connection, *key[:2]):
            return Recorded.STOPPED
        if definition.kind.call == "active":
            days_of_use.mark(connection, definition, instant_s)
            return Recorded.COUNTED
        if charges.slot(connection, key) is Slot.REPORTED:
            return Recorded.ALREADY_RECORDED
        if definition.persist:
            counters.add_persistent(connection, definition, window, by)
        else:
            self.counts.add(definition, window, by)
        return Recorded.COUNTED

    def report_ended(self, connection: sqlite3.Connection, instant_s: float, randomize: Randomize) -> bool:
        """Report the counts of ended windows; return whether any were deleted from the file."""
        for ended in self.counts.ended(self.registry, instant_s):
            if self._report(connection, ended, instant_s, randomize) is not Recorded.QUEUED:
                # a queued count stays: this transaction may still be rolled back
                self.counts.drop(ended)
        for ended in counters.ended_persistent(connection, self.registry, instant_s):
            self._report(connection, ended, instant_s, randomize)
        were_counts = counters.forget_ended_persistent(connection, instant_s)
        for ended in list(days_of_use.ended(connection, self.registry, instant_s)):
            self._report(connection, ended, instant_s, randomize)
        return days_of_use.forget(connection, self.registry, instant_s) or were_counts

    def _report(
        self, connection: sqlite3.Connection, ended: EndedCount, instant_s: float, randomize: Randomize
    ) -> Recorded:
        definition, window, answer = ended
        if not covers(self.agreement.consent, definition):
            return Recorded.NO_CONSENT
        if calendar.phase(window, instant_s) is Phase.CLOSED:
            return Recorded.EXPIRED
        return reporting.report(
            connection,
            self.registry,
            self.coins,
            definition,
            randomize(definition, answer),
            window=window,
            instant_s=window.ends_at - 1,
            held=True,
        )
