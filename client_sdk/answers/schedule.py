"""The calendar of a device: what each transaction records, fills in and reports by its windows.

A metric with a slot is paid for when its window begins. If the metric is filled in, the slot gets
its report, of no answer, in that same transaction. Counts are reported when their window has ended.

The law of filled-in questions: whatever order of registries a device sees, what it sends for a
window is the same whether or not anything was recorded. *What* means which metric, edition and
window, and the instant from which the report may leave. *Whether or not* compares two devices whose
apps run and look at the clock at the same instants.

The law holds because no answer decides anything. An answer can only replace the symbol in a report
that waits already; registries, clocks and opting out meet the same reports on every device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from client_sdk.answers import counters, days_of_use, participation
from client_sdk.answers.consent import Consent, covers
from client_sdk.answers.counters import EndedCount, RunningCounts
from client_sdk.answers.permanent import PermanentAnswer, Secret, check_secret, permanent_answer, secret_of
from client_sdk.ledger import agreement, charges, erase, outbox, queue, registries, stops
from client_sdk.ledger.charges import Periods, Slot, SlotKey
from client_sdk.protocol.coins import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import GRACE_S, Window
from client_sdk.protocol.wire.report import Report
from client_sdk.results import LedgerError, Recorded

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.mechanisms.permanent import Permanent

RELEASE_SPREAD_S = 6 * 3600
"""Reports that wait for the end of their window leave within six hours after it. A whole population
must not send at once, and the collector takes them for three days."""


class SymbolOfWindow(NamedTuple):
    """A symbol with a meaning in one window only: its rotations turned the vector."""

    symbol: int
    window: Window


Randomised = int | SymbolOfWindow | PermanentAnswer
"""A true answer after randomisation: a symbol to report, or a permanent answer to report from."""


class Schedule:
    """Records answers and does what is due by the calendar, within a transaction of the ledger.

    Attributes:
        consent: what the user has agreed to.
        groups: purposes as a text, for each question that has any: which reports travel together.
        counts: the counts that are kept in memory.
        has_leftovers: whether counts were deleted from the file, so that its log may still hold
            what is left of them.

    """

    def __init__(self, registry: Registry, coins: Coins) -> None:
        """Take the questions and the ceilings from the registry."""
        metrics = registry.metrics.values()
        self.consent: Consent = True
        self.groups = groups_of(registry.metrics)
        self.counts = RunningCounts()
        # a process may have been killed
        self.has_leftovers = any(metric.persist for metric in metrics)
        self._registry = registry
        self._coins = coins
        self._former: dict[str, Metric | None] = {}
        self._secret: Secret | None = None
        self._latest_s = 0.0
        self._kinds = {metric.window for metric in metrics if participation.has_slots(registry, metric)}
        self._ending = self._kinds | {metric.window for metric in metrics if metric.kind.call != "record"}

    @property
    def looks_ahead(self) -> bool:
        """Whether anything can become due by the calendar alone, without being recorded."""
        return bool(self._kinds)

    @property
    def needs_secret(self) -> bool:
        """Whether any answer is randomised with the device's secret."""
        return any(metric.permanent_nanos > 0 for metric in self._registry.metrics.values())

    def is_covered(self, name: str) -> bool:
        """Whether the user has agreed to a question, by its name."""
        return self._is_covered_by(self.consent, name)

    def _is_covered_by(self, consent: Consent, name: str) -> bool:
        return covers(consent, self._registry.metrics.get(name) or self._former.get(name))

    def agree(self, connection: sqlite3.Connection, consent: Consent) -> None:
        """Carry out what the user has said, although they may have said something else since.

        Args:
            connection: within a write transaction that comes before all that follows from it.
            consent: what the user agreed to when they said so.

        """
        if agreement.note(connection, agrees=bool(consent)) and consent:
            self._name(connection)
        if consent is False:
            erase.wipe_counts(connection)
        else:
            self.withdraw(connection, consent)

    def withdraw(self, connection: sqlite3.Connection, consent: Consent | None = None) -> None:
        """Drop all that is left of the questions that the user does not agree to, beside others.

        Whatever the user agrees to, learn the purposes of what an earlier registry left: they also
        say which reports travel together.

        Args:
            connection: within a write transaction.
            consent: what the user agrees to; None stands for the present consent.

        """
        self._learn_former(connection)
        agreed = self.consent if consent is None else consent
        if not isinstance(agreed, bool):
            is_covered = partial(self._is_covered_by, agreed)
            self.counts.keep(is_covered)
            self.has_leftovers |= erase.withdraw(connection, is_covered)

    def _name(self, connection: sqlite3.Connection) -> None:
        """Keep the registry, and name the editions that a collector may stop."""
        if registries.keep(connection, self._registry.source):
            metrics = self._registry.metrics.values()
            stops.name(connection, ((metric.name, edition) for metric in metrics for edition in metric.editions))

    def _learn_former(self, connection: sqlite3.Connection) -> None:
        """Look up earlier registries' questions: an update that ends one withdraws no purpose."""
        unknown = erase.questions(connection) - self._registry.metrics.keys() - self._former.keys()
        if unknown:
            definitions = registries.definitions(connection, unknown)
            self._former |= {name: definitions.get(name) for name in unknown}
            self.groups |= groups_of(definitions)

    def randomise(
        self,
        definition: Metric,
        encode: Callable[[Coins], Any],
        read_secret: Callable[[], Secret],
        clock_s: float = 0.0,
    ) -> Randomised:
        """Return the randomised form of a true answer.

        Args:
            definition: the metric.
            encode: from coins to the channel's input of the answer.
            read_secret: reads the device's secret from the ledger. It is called only for a
                permanent answer, and only if this process does not know the secret yet.
            clock_s: the present instant of the device's clock, which decides the window of a vector
                unless the ledger is known to be ahead of it.

        Raises:
            LedgerError: if the secret cannot be read.

        """
        if definition.channel.turns:
            window = Window.of(definition.window, max(clock_s, self._latest_s))
            return SymbolOfWindow(definition.randomize(encode, self._coins, window.text), window)
        if not definition.permanent_nanos:
            return definition.randomize(encode, self._coins)
        channel = cast("Permanent", definition.channel)  # no other channel has permanent answers
        return permanent_answer(definition, channel, encode, self._secret or read_secret())

    def record(
        self,
        connection: sqlite3.Connection,
        clock_s: float,
        definition: Metric,
        randomised: Randomised,
        leaves_s: float = 0.0,
    ) -> Recorded:
        """Do what is due; charge and queue the present window's report, to leave at an instant.

        Raises:
            LedgerError: as `catch_up` does; then nothing was done.

        """
        instant_s = self.catch_up(connection, clock_s)
        window = Window.of(definition.window, instant_s)
        if isinstance(randomised, SymbolOfWindow) and randomised.window != window:
            return Recorded.BUSY  # the window ended meanwhile, or the ledger's time was not known; now it is
        return self.report(connection, definition, randomised, window, instant_s, leaves_s=leaves_s)

    def count(self, connection: sqlite3.Connection, clock_s: float, definition: Metric, by: int) -> Recorded:
        """Do what is due; add to the present window's count, or remember today as a day of use.

        Raises:
            LedgerError: as `catch_up` does; then nothing was done.

        """
        instant_s = self.catch_up(connection, clock_s)
        window = Window.of(definition.window, instant_s)
        key = _key(connection, definition, window)
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

    def catch_up(self, connection: sqlite3.Connection, clock_s: float) -> float:
        """Do what is due and return the present instant as the ledger counts time.

        Raises:
            ClockError: if the clock was set back too far; then nothing was done.
            LedgerError: if the user has opted out in another process; then nothing was done.

        """
        secret = self.learn_secret(connection)
        self._name(connection)
        instant_s = self._latest_s = charges.instant(connection, clock_s)
        if self._registry.stopped:  # an app may ship its collector's list
            stops.name(connection, self._registry.stopped)
            stops.learn(connection, self._registry.stopped)
            outbox.drop_stopped(connection)
        queue.drop_held(connection, lambda *key: self._current(*key) is not None)
        # Slots come before counts that have ended: if a ceiling does not allow both, whether a
        # filled-in question reports must not tell whether anything was counted. `feasibility` finds
        # such ceilings.
        for kind in sorted(self._kinds):
            window = Window.of(kind, instant_s)
            participation.open_slots(
                connection, self._registry, secret.key, window, instant_s, is_covered=self.is_covered
            )
        self._fill_in(connection)
        self._report_counts(connection, instant_s)
        self._close_ended(connection, instant_s)
        return instant_s

    def learn_secret(self, connection: sqlite3.Connection) -> Secret:
        """Return the device's secret and remember it, so that answers need not wait for it.

        Raises:
            LedgerError: if it was wiped while this program ran.

        """
        try:
            secret = secret_of(connection)
        except LedgerError:
            self.forget()
            raise
        if self._secret is not None and self._secret.generation != secret.generation:
            self.counts.clear()  # the user opted out and in again, which forgot what was counted
        self._secret = secret
        return secret

    def forget(self) -> None:
        """Forget the counts in memory and the secret: the user has opted out."""
        self.counts.clear()
        self._secret = None

    def next_s(self, connection: sqlite3.Connection, clock_s: float) -> float | None:
        """Return the next instant at which something will be due; None if there is none."""
        ends = (Window.of(kind, clock_s).ends_at for kind in self._ending)
        releases = queue.next_release_s(connection, clock_s)
        return min((*ends, *releases), default=None)

    def report(  # noqa: PLR0913 the parts of a report
        self,
        connection: sqlite3.Connection,
        definition: Metric,
        randomised: Randomised,
        window: Window,
        instant_s: float,
        *,
        held: bool = False,
        leaves_s: float = 0.0,
    ) -> Recorded:
        """Charge and queue the report of a window, or answer in the report that waits for it.

        Args:
            connection: within a write transaction.
            definition: the metric.
            randomised: the answer.
            window: the window to which the report belongs.
            instant_s: an instant within the periods that pay for the report.
            held: whether it leaves only after the end of the window; a filled-in report always
                does.
            leaves_s: the Unix seconds at which a report that is not held leaves.

        """
        key = _key(connection, definition, window)
        slot = charges.slot(connection, key)
        obstacle = self._obstacle(connection, definition, window, key, slot)
        if obstacle is not None:
            return obstacle
        budget = self._registry.budget
        if slot is None and not charges.charge(connection, key, definition.cost, budget, Periods.at(budget, instant_s)):
            return Recorded.OUT_OF_BUDGET
        report = Report(*key, self._symbol(connection, definition, randomised))
        if slot is Slot.FILLED:
            if not queue.replace_symbol(connection, report):
                return Recorded.NOT_ASKED
        else:
            queue.enqueue(connection, report, self._release_s(window) if held else 0, leaves_s)
        charges.close_slot(connection, key)
        return Recorded.QUEUED

    def _obstacle(
        self, connection: sqlite3.Connection, definition: Metric, window: Window, key: SlotKey, slot: Slot | None
    ) -> Recorded | None:
        """Return why a metric gets no report, or no other, in a window; None if it may.

        The budget is not considered.
        """
        if definition.has_expired(window):  # the ledger's time may be ahead of the device's clock
            return Recorded.EXPIRED
        if stops.is_stopped(connection, *key[:2]):
            return Recorded.STOPPED
        if slot is None and participation.has_slots(self._registry, definition):
            return Recorded.NOT_ASKED
        return Recorded.ALREADY_RECORDED if slot is Slot.REPORTED else None

    def _release_s(self, window: Window) -> int:
        return window.ends_at + self._coins.below(RELEASE_SPREAD_S)

    def _symbol(self, connection: sqlite3.Connection, definition: Metric, randomised: Randomised) -> int:
        if isinstance(randomised, SymbolOfWindow):
            return randomised.symbol
        if not isinstance(randomised, PermanentAnswer):
            return randomised
        check_secret(connection, randomised)
        return definition.channel.last_step.perturb(randomised.symbol, self._coins)

    def _fill_in(self, connection: sqlite3.Connection) -> None:
        """Give open slots that are filled in their report."""
        for key in charges.open_slots(connection):
            window, definition = Window.parse(key[2]), self._current(*key)
            is_asked = definition is not None and not stops.is_stopped(connection, *key[:2])
            if definition is not None and is_asked and definition.fill is not None:
                randomised = self._randomise_now(connection, definition, definition.fill.answer)
                symbol = self._symbol(connection, definition, randomised)
                charges.fill_slot(connection, key)
                queue.enqueue(connection, Report(*key, symbol), self._release_s(window))

    def _close_ended(self, connection: sqlite3.Connection, instant_s: float) -> None:
        """Close slots of ended windows: the counts that they were paid for are reported by then."""
        for key in charges.open_slots(connection):
            if Window.parse(key[2]).ends_at <= instant_s:
                charges.close_slot(connection, key)

    def _current(self, name: str, edition: str, window: str) -> Metric | None:
        """Return a slot's or report's metric; None without consent or if not asked in the window.

        A report of another stratum stays as it is: the device belonged there when the window began.
        """
        definition = self._registry.metrics.get(name)
        if definition is None or edition not in definition.editions or definition.has_expired(Window.parse(window)):
            return None
        return definition if covers(self.consent, definition) else None

    def _report_counts(self, connection: sqlite3.Connection, instant_s: float) -> None:
        for ended in self.counts.ended(self._registry, instant_s):
            if self._report_count(connection, ended, instant_s) is not Recorded.QUEUED:
                # a queued count stays: this transaction may still be rolled back
                self.counts.drop(ended)
        for ended in counters.ended_persistent(connection, self._registry, instant_s):
            self._report_count(connection, ended, instant_s)
        self.has_leftovers |= counters.forget_ended_persistent(connection, instant_s)
        for ended in list(days_of_use.ended(connection, self._registry, instant_s)):
            self._report_count(connection, ended, instant_s)
        self.has_leftovers |= days_of_use.forget(connection, self._registry, instant_s)

    def _report_count(self, connection: sqlite3.Connection, ended: EndedCount, instant_s: float) -> Recorded:
        definition, window, answer = ended
        if not covers(self.consent, definition):
            return Recorded.NO_CONSENT
        if window.ends_at + GRACE_S <= instant_s:
            # no collector takes it: it would be paid for in vain
            return Recorded.EXPIRED
        randomised = self._randomise_now(connection, definition, answer)
        return self.report(connection, definition, randomised, window, window.ends_at - 1, held=True)

    def _randomise_now(self, connection: sqlite3.Connection, definition: Metric, answer: object) -> Randomised:
        return self.randomise(definition, partial(definition.encode, answer), partial(self.learn_secret, connection))


def groups_of(metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Return the purposes of the questions that have any, as a text."""
    return {name: " ".join(sorted(metric.consent)) for name, metric in metrics.items() if metric.consent}


def _key(connection: sqlite3.Connection, definition: Metric, window: Window) -> SlotKey:
    """Return the key of a window's charge.

    If the device has moved since, it is of the stratum in which the charge was made.
    """
    own = (definition.name, definition.edition, window.text)
    if not definition.strata or charges.slot(connection, own) is not None:
        return own
    others = ((definition.name, edition, window.text) for edition in definition.editions)
    return next((key for key in others if charges.slot(connection, key) is not None), own)
