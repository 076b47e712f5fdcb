"""From a randomised answer to a transaction of the ledger, in time. No true answer comes here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers.permanent import Secret
from client_sdk.answers.schedule import Randomised, Schedule
from client_sdk.ledger import problems
from client_sdk.ledger.thread import READ, WRITE
from client_sdk.per_process import Processes
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.results import ClockError, LedgerBusyError, LedgerError, Recorded

if TYPE_CHECKING:
    import sqlite3

    _Work = Callable[[sqlite3.Connection, float], Recorded]

RECORD_DEADLINE_S = 0.06
"""How long `Recorder.record` waits for the disk. Its host is promised 100 ms; the rest is for a
busy processor."""

SECRET_DEADLINE_S = 0.03
"""How long a process waits for the secret before its first permanent answer. Both waits together
stay within the promise."""


class Recorder:
    """Runs the transactions that record answers. Its caller has asked for the user's consent.

    Attributes:
        clock_problem: what is wrong with the clock and what to do about it; None if nothing is.

    """

    def __init__(
        self, registry: Registry, processes: Processes, schedule: Schedule, clock: Callable[[], float]
    ) -> None:
        """Take the ceilings from the registry, the consent and the ledger from the processes."""
        self.clock_problem: str | None = None
        self._registry = registry
        self._processes = processes
        self._schedule = schedule
        self._clock = clock

    def prepare(self) -> None:
        """Open the ledger soon and do what is due; an app that runs briefly takes part, too.

        Raises:
            LedgerError: if no thread can be started, or the clock cannot be believed.

        """
        ledger_thread = self._processes.current.ledger_thread
        if self._schedule.looks_ahead:
            ledger_thread.prepare(partial(self._catch_up, clock_s=self.instant()), begin=WRITE)
        else:
            ledger_thread.prepare(self._schedule.learn_secret)

    def read_secret(self) -> Secret:
        """Return the device's secret.

        Raises:
            LedgerBusyError: if the ledger does not answer in time.
            LedgerError: if it cannot be used, or the secret was wiped.

        """
        ledger_thread = self._processes.current.ledger_thread
        return ledger_thread.run(self._schedule.learn_secret, SECRET_DEADLINE_S, begin=READ)

    def record(self, definition: Metric, randomised: Randomised) -> Recorded:
        """Charge and queue a report of the present window, in time and without raising."""
        return self._in_time(definition, partial(self._schedule.record, definition=definition, randomised=randomised))

    def count(self, definition: Metric, by: int) -> Recorded:
        """Add to the count of the present window, in time and without raising."""
        return self._in_time(definition, partial(self._schedule.count, definition=definition, by=by))

    def instant(self, *kinds: WindowKind) -> float:
        """Return the clock's instant, in Unix seconds; ``kinds`` are windows that must hold it.

        Raises:
            ClockError: if no collector takes the instant; ``clock_problem`` says the same.

        """
        try:
            instant_s = float(self._clock())
            for kind in kinds:
                Window.parse(Window.of(kind, instant_s).text)
        except Exception:  # noqa: BLE001 the clock is the host's, and may do anything
            self.clock_problem = "the device's clock names an instant that no collector takes; set it"
            raise ClockError(self.clock_problem) from None
        self.clock_problem = None
        return instant_s

    def _in_time(self, definition: Metric, work: _Work) -> Recorded:
        process = self._processes.current
        try:
            clock_s = self.instant(definition.window, self._registry.budget.window)
            if definition.has_expired(Window.of(definition.window, clock_s)):
                return Recorded.EXPIRED
            transaction = partial(self._with_consent, work=work, clock_s=clock_s)
            recorded = process.ledger_thread.run(transaction, RECORD_DEADLINE_S)
        except LedgerBusyError:
            recorded = Recorded.BUSY
        except LedgerError as error:
            if isinstance(error, ClockError):  # a program that ends soon leaves a note of it
                note = partial(problems.note_problem, about=problems.CLOCK, sentence=str(error))
                process.ledger_thread.prepare(note, begin=WRITE)
            return Recorded.UNAVAILABLE
        if recorded is Recorded.COUNTED or definition.fill is not None:
            process.uploader.expect()  # whether anything was recorded moves no upload by a second
        elif recorded in (Recorded.QUEUED, Recorded.BUSY):
            # a busy ledger may still have queued it
            process.uploader.notify()
        return recorded

    def _with_consent(self, connection: sqlite3.Connection, work: _Work, clock_s: float) -> Recorded:
        """Do the work in the ledger thread, unless the user opted out while it waited."""
        return work(connection, clock_s) if self._processes.consent else Recorded.NO_CONSENT

    def _catch_up(self, connection: sqlite3.Connection, clock_s: float) -> None:
        if self._processes.consent:
            self._schedule.catch_up(connection, clock_s)
