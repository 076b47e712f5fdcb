"""What is due by the calendar: slots when a window begins; fill-ins and counts when one has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk import counting, ledger, outbox, participation
from client_sdk.counting import Counted, Counters
from client_sdk.ledger import Cost, Periods
from client_sdk.permanent import PermanentAnswer, admit, permanent_answer, secret_of
from client_sdk.results import LedgerError, Recorded
from client_sdk.spec.channel import Coins
from client_sdk.spec.domain import Count
from client_sdk.spec.mechanisms.permanent import Permanent
from client_sdk.spec.metric import Metric
from client_sdk.spec.registry import Registry
from client_sdk.spec.report import Report
from client_sdk.spec.window import GRACE_S, Window

if TYPE_CHECKING:
    import sqlite3

RELEASE_SPREAD_S = 6 * 3600
"""Reports that wait for their window's end leave within six hours after it: a whole population must not send at once,
and the collector takes them for three days."""

Made = int | PermanentAnswer
"""What was made of a true answer: a symbol to report, or a permanent answer to report from."""


class Agenda:
    """Does what is due, within a transaction of the ledger.

    Attributes:
        counters: the counts that are kept in memory.
        has_leftovers: whether counts were deleted from the file whose remains its log may still hold.

    """

    def __init__(self, registry: Registry, coins: Coins) -> None:
        """Take the questions and the ceilings from the registry."""
        self.counters = Counters()
        self.has_leftovers = any(metric.persist for metric in registry.metrics.values())  # of a process that was killed
        self._registry = registry
        self._coins = coins
        self._generation: int | None = None
        self._asked = frozenset((metric.name, metric.edition) for metric in registry.metrics.values())
        self._kinds = {
            metric.window for metric in registry.metrics.values() if participation.has_slots(registry, metric)
        }
        self._ending = self._kinds | {
            metric.window for metric in registry.metrics.values() if isinstance(metric.domain, Count)
        }

    @property
    def looks_ahead(self) -> bool:
        """Whether anything will ever be due by the calendar alone, without anything being recorded."""
        return bool(self._kinds)

    def begin(self, connection: sqlite3.Connection, clock_s: float) -> float:
        """Do what is due and return the present instant as the ledger counts time.

        Raises:
            ClockError: if the clock was set back too far; then nothing was done.
            LedgerError: if the user opted out meanwhile, in another process; then nothing was done either.

        """
        try:
            generation = secret_of(connection).generation
        except LedgerError:
            self.counters.clear()
            raise
        if self._generation not in (None, generation):  # opted out and in again meanwhile: that forgot what was counted
            self.counters.clear()
        self._generation = generation
        instant_s = ledger.instant(connection, clock_s)
        for kind in sorted(self._kinds):
            self._open_slots(connection, Window.of(kind, instant_s), instant_s)
        self._report_counts(connection, instant_s)  # before their windows are filled in
        outbox.drop_held(connection, self._asked)
        if self._kinds:
            self._fill_in(connection, instant_s)
        return instant_s

    def next_s(self, connection: sqlite3.Connection, clock_s: float) -> float | None:
        """Return the next instant at which something will be due, or none."""
        ends = (Window.of(kind, clock_s).ends_at for kind in self._ending)
        releases = outbox.next_release_s(connection, clock_s)
        return min((*ends, *releases), default=None)

    def report(  # noqa: PLR0913 what a report is made of
        self,
        connection: sqlite3.Connection,
        definition: Metric,
        made: Made,
        window: Window,
        instant_s: float,
        *,
        held: bool = False,
    ) -> Recorded:
        """Charge and queue the report of a window.

        Args:
            connection: within a write transaction.
            definition: the metric.
            made: of the true answer.
            window: that the report speaks of.
            instant_s: an instant within the periods that pay for it.
            held: whether it leaves after the window's end; so do all reports of what is filled in.

        """
        if definition.has_expired(window):  # the ledger's time may be ahead of the clock that was asked before
            return Recorded.EXPIRED
        key = (definition.name, definition.edition, window.text)
        if ledger.is_reported(connection, key):
            return Recorded.ALREADY_RECORDED
        periods = Periods.at(self._registry.budget, instant_s)
        if not ledger.is_charged(connection, key):
            if participation.has_slots(self._registry, definition):
                return Recorded.NOT_ASKED
            if not ledger.charge(connection, key, Cost.of_report(definition), self._registry.budget, periods):
                return Recorded.OUT_OF_BUDGET
        symbol = self._symbol(connection, definition, made, periods)
        if symbol is None:
            ledger.discharge(connection, key)
            return Recorded.OUT_OF_BUDGET
        release_s = 0
        if held or definition.fill is not None:
            release_s = window.ends_at + self._coins.below(RELEASE_SPREAD_S)
        return ledger.report(connection, Report(*key, symbol), release_s)

    def _symbol(self, connection: sqlite3.Connection, definition: Metric, made: Made, periods: Periods) -> int | None:
        if not isinstance(made, PermanentAnswer):
            return made
        assert isinstance(definition.channel, Permanent)  # noqa: S101 nothing else has permanent answers
        answer = admit(connection, definition, made, self._registry.budget, periods)
        return None if answer is None else definition.channel.instantaneous.perturb(answer, self._coins)

    def _open_slots(self, connection: sqlite3.Connection, window: Window, instant_s: float) -> None:
        """Pay for what is asked in a window, once, when it is first met."""
        if connection.execute("SELECT 1 FROM slots WHERE window = ?", (window.text,)).fetchone():
            return
        connection.execute("INSERT INTO slots VALUES (?)", (window.text,))
        periods = Periods.at(self._registry.budget, instant_s)
        for definition in participation.drawn(connection, self._registry, window, secret_of(connection).key):
            key = (definition.name, definition.edition, window.text)
            if not ledger.is_charged(connection, key):
                ledger.charge(connection, key, Cost.of_report(definition), self._registry.budget, periods)

    def _fill_in(self, connection: sqlite3.Connection, instant_s: float) -> None:
        """Report what is to be reported of windows that ended without an answer, and let go of the other slots."""
        for key in ledger.unreported(connection):
            name, edition, text = key
            window, definition = Window.parse(text), self._registry.metrics.get(name)
            if instant_s < window.ends_at:
                continue
            is_asked = definition is not None and definition.edition == edition and definition.fill is not None
            if definition is None or not is_asked:
                ledger.close_slot(connection, key)
            else:  # however late: what was recorded is sent then, too
                made = self.made(connection, definition, definition.fill.answer if definition.fill else None)
                self.report(connection, definition, made, window, window.ends_at - 1)

    def _report_counts(self, connection: sqlite3.Connection, instant_s: float) -> None:
        for counted in self.counters.ended(self._registry, instant_s):
            if self._report_count(connection, counted, instant_s) is not Recorded.QUEUED:
                self.counters.drop(counted)  # else it is kept: this transaction may yet be rolled back
        for counted in counting.take_ended_persistent(connection, self._registry, instant_s):
            self._report_count(connection, counted, instant_s)
            self.has_leftovers = True

    def _report_count(self, connection: sqlite3.Connection, counted: Counted, instant_s: float) -> Recorded:
        definition, window, answer = counted
        if window.ends_at + GRACE_S <= instant_s:  # no collector takes it: it would be paid for in vain
            return Recorded.EXPIRED
        made = self.made(connection, definition, answer)
        return self.report(connection, definition, made, window, window.ends_at - 1, held=True)

    def made(self, connection: sqlite3.Connection, definition: Metric, answer: object) -> Made:
        """Return what is made of an answer, within a transaction."""
        if isinstance(definition.channel, Permanent):
            return permanent_answer(definition, definition.channel, answer, secret_of(connection))
        return definition.perturb(answer, self._coins)
