"""From a perturbed answer to a charged and queued report. The true value does not come here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers import counters
from client_sdk.answers.permanent import Secret, secret_of
from client_sdk.answers.schedule import Agenda, Made
from client_sdk.ledger import charges
from client_sdk.ledger.charges import Slot
from client_sdk.ledger.thread import READ, WRITE
from client_sdk.per_process import Processes
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.results import LedgerBusyError, LedgerError, Recorded

if TYPE_CHECKING:
    import sqlite3

    _Work = Callable[[sqlite3.Connection, Window, float], Recorded]

RECORD_DEADLINE_S = 0.06
"""How long `Recorder.record` waits for the disk: its host is promised 100 ms, and the rest is for a busy processor."""

SECRET_DEADLINE_S = 0.03
"""How long it waits for the secret before; both waits together stay within the promise."""


class Recorder:
    """Makes reports of perturbed answers.

    Attributes:
        clock_problem: what is wrong with the clock and what to do about it, or none.

    """

    def __init__(self, registry: Registry, processes: Processes, agenda: Agenda, clock: Callable[[], float]) -> None:
        """Take the ceilings from the registry, the consent and the ledger from the processes."""
        self.clock_problem: str | None = None
        self._registry = registry
        self._processes = processes
        self._agenda = agenda
        self._clock = clock

    def prepare(self) -> None:
        """Open the ledger soon, and do what is due by the calendar: an app that runs for a moment takes part, too.

        Raises:
            LedgerError: if no thread can be started, or the clock cannot be believed.

        """
        keeper = self._processes.current.keeper
        if self._agenda.looks_ahead:
            keeper.prepare(partial(self._begin, clock_s=self.instant()), begin=WRITE)
        else:
            keeper.prepare()

    def secret(self) -> Secret | Recorded:
        """Return the device's secret, or why there is none; for answers that are perturbed with it."""
        if not self._processes.consent:
            return Recorded.NO_CONSENT
        try:
            return self._processes.current.keeper.run(secret_of, SECRET_DEADLINE_S, begin=READ)
        except LedgerBusyError:
            return Recorded.BUSY
        except LedgerError:
            return Recorded.UNAVAILABLE

    def record(self, definition: Metric, made: Made) -> Recorded:
        """Charge and queue a report of the present window; return what became of it, in time and without raising."""

        def report(connection: sqlite3.Connection, window: Window, instant_s: float) -> Recorded:
            return self._agenda.report(connection, definition, made, window, instant_s)

        return self._in_time(definition, report)

    def count(self, definition: Metric, by: int) -> Recorded:
        """Add up within the present window."""
        return self._in_time(definition, partial(self._count, definition=definition, by=by))

    def instant(self, *kinds: WindowKind) -> float:
        """Return the clock's instant.

        Raises:
            LedgerError: if it is one that no collector takes; ``clock_problem`` says the same.

        """
        try:
            instant_s = float(self._clock())
            for kind in kinds:
                Window.parse(Window.of(kind, instant_s).text)
        except Exception:  # noqa: BLE001 the clock is the host's, and may do anything
            self.clock_problem = "the device's clock names an instant that no collector takes; set it"
            raise LedgerError(self.clock_problem) from None
        self.clock_problem = None
        return instant_s

    def _in_time(self, definition: Metric, work: _Work) -> Recorded:
        if not self._processes.consent:
            return Recorded.NO_CONSENT
        process = self._processes.current
        try:
            clock_s = self.instant(definition.window, self._registry.budget.window)
            if definition.has_expired(Window.of(definition.window, clock_s)):
                return Recorded.EXPIRED
            begun = partial(self._begun, definition=definition, work=work, clock_s=clock_s)
            recorded = process.keeper.run(begun, RECORD_DEADLINE_S)
        except LedgerBusyError:
            recorded = Recorded.BUSY
        except LedgerError:
            return Recorded.UNAVAILABLE
        if recorded is Recorded.COUNTED or definition.fill is not None:
            process.uploader.expect()  # whether anything was recorded moves no upload by a second
        elif recorded in (Recorded.QUEUED, Recorded.BUSY):  # who was too busy to answer may have queued it all the same
            process.uploader.notify()
        return recorded

    def _begun(self, connection: sqlite3.Connection, definition: Metric, work: _Work, clock_s: float) -> Recorded:
        """Do what is due, then the work, in the keeper's thread; not if the user opted out while it waited."""
        instant_s = self._begin(connection, clock_s)
        if instant_s is None:
            return Recorded.NO_CONSENT
        return work(connection, Window.of(definition.window, instant_s), instant_s)

    def _begin(self, connection: sqlite3.Connection, clock_s: float) -> float | None:
        return self._agenda.begin(connection, clock_s) if self._processes.consent else None

    def _count(
        self, connection: sqlite3.Connection, window: Window, _instant_s: float, definition: Metric, by: int
    ) -> Recorded:
        if charges.slot(connection, (definition.name, definition.edition, window.text)) is Slot.REPORTED:
            return Recorded.ALREADY_RECORDED
        if definition.persist:
            counters.add_persistent(connection, definition, window, by)
        else:
            self._agenda.counters.add(definition, window, by)
        return Recorded.COUNTED
