"""What is due by the calendar: slots and what fills them when a window begins, counts when one has ended.

The law of questions that are filled in: in any order of registries, what is sent for a window is the same whether or
not anything was recorded. *What* is which metric, edition and window, and from when on it may leave. *Whether or not*
compares two devices whose apps run and look at the clock at the same instants.

It holds because nothing is decided by an answer: a slot gets its report, of no answer, in the transaction that opens
it. From then on an answer can only take the place of the symbol in that report; registries, clocks and opting out meet
the same reports on every device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.answers import counters, participation
from client_sdk.answers.counters import Counted, Counters
from client_sdk.answers.permanent import PermanentAnswer, admit, permanent_answer, secret_of
from client_sdk.ledger import charges, outbox
from client_sdk.ledger.charges import Cost, Periods, Slot
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.domain import Count
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import GRACE_S, Window
from client_sdk.protocol.wire.report import Report
from client_sdk.results import LedgerError, Recorded

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
        instant_s = charges.instant(connection, clock_s)
        outbox.drop_held(connection, lambda *key: self._asked(*key) is not None)
        for kind in sorted(self._kinds):
            self._open_slots(connection, Window.of(kind, instant_s), instant_s)
        self._fill_in(connection, instant_s)
        self._report_counts(connection, instant_s)
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
        """Charge and queue the report of a window, or answer in the one that waits where nothing was recorded.

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
        slot = charges.slot(connection, key)
        if slot is None and participation.has_slots(self._registry, definition):
            return Recorded.NOT_ASKED
        if slot is Slot.REPORTED:
            return Recorded.ALREADY_RECORDED
        periods = Periods.at(self._registry.budget, instant_s)
        symbol = None
        if slot is not None or charges.charge(
            connection, key, Cost.of_report(definition), self._registry.budget, periods
        ):
            symbol = self._symbol(connection, definition, made, periods)
        if symbol is None:
            charges.discharge(connection, key)
            return Recorded.OUT_OF_BUDGET
        report = Report(*key, symbol)
        if slot is Slot.FILLED:
            return charges.answer(connection, report)
        return charges.report(connection, report, self._release_s(window) if held else 0)

    def _release_s(self, window: Window) -> int:
        return window.ends_at + self._coins.below(RELEASE_SPREAD_S)

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
            if charges.slot(connection, key) is None:
                charges.charge(connection, key, Cost.of_report(definition), self._registry.budget, periods)

    def _fill_in(self, connection: sqlite3.Connection, instant_s: float) -> None:
        """Give every open slot that is filled in its report, however late; let go of others whose window is over."""
        for key in charges.open_slots(connection):
            window, definition = Window.parse(key[2]), self._asked(*key)
            if definition is not None and definition.fill is not None:
                made = self.made(connection, definition, definition.fill.answer)
                symbol = self._symbol(connection, definition, made, Periods.at(self._registry.budget, instant_s))
                assert symbol is not None  # noqa: S101 only what is paid for with the first answer may have none
                charges.fill(connection, Report(*key, symbol), self._release_s(window))
            elif window.ends_at <= instant_s:
                charges.close_slot(connection, key)

    def _asked(self, name: str, edition: str, window: str) -> Metric | None:
        """Return the metric of a slot or a report, if it is asked in that window still."""
        definition = self._registry.metrics.get(name)
        if definition is None or definition.edition != edition or definition.has_expired(Window.parse(window)):
            return None
        return definition

    def _report_counts(self, connection: sqlite3.Connection, instant_s: float) -> None:
        for counted in self.counters.ended(self._registry, instant_s):
            if self._report_count(connection, counted, instant_s) is not Recorded.QUEUED:
                self.counters.drop(counted)  # else it is kept: this transaction may yet be rolled back
        for counted in counters.take_ended_persistent(connection, self._registry, instant_s):
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
