"""Records randomized answers in the ledger. No true answer reaches this module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers.randomized import Randomized
from client_sdk.answers.schedule import Schedule
from client_sdk.host.clock import Clock
from client_sdk.ledger import device
from client_sdk.ledger.device import Secret
from client_sdk.ledger.thread import READ, WRITE
from client_sdk.per_process import Process, Processes
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from client_sdk.results import ClockError, LedgerError, Recorded

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.sending.timing import Departure

    _Work = Callable[[sqlite3.Connection, float, float], Recorded]

RECORD_DEADLINE_S = 0.06
"""How long, in seconds, `Recorder.record` waits for the disk. Afterwards, the answer waits in
memory. The app gets a result within 100 ms; the remaining time is a margin for a busy processor."""

SECRET_DEADLINE_S = 0.08
"""How long, in seconds, the first permanent answer of a process waits for the device's secret. The
limit is close to the promised 100 ms, because the answer is lost without the secret."""


class Recorder:
    """Runs the transactions that record answers. The caller has already checked the consent."""

    def __init__(self, processes: Processes, schedule: Schedule, clock: Clock) -> None:
        """Store the arguments."""
        self._processes = processes
        self._schedule = schedule
        self._clock = clock

    def read_secret(self) -> Secret:
        """Return the device's secret. Raise a `LedgerError` after `SECRET_DEADLINE_S`."""
        ledger_thread = self._processes.current.ledger_thread
        return ledger_thread.run(self._schedule.learn_secret, SECRET_DEADLINE_S, begin=READ)

    def record(self, definition: Metric, randomized: Randomized, waited_s: float = 0.0) -> Recorded:
        """Charge and queue a report, without raising errors.

        ``waited_s`` is the time, in seconds, that the app's call has already taken.
        """

        def work(connection: sqlite3.Connection, clock_s: float, leaves_s: float) -> Recorded:
            return self._schedule.record(connection, clock_s, definition, randomized, leaves_s)

        return self.conclude(self.in_time(definition, work, waited_s))

    def conclude(self, recorded: Recorded) -> Recorded:
        """Return the outcome of recording an answer. If the answer was lost, count the loss."""
        process = self._processes.current
        if process.losses.add(recorded):
            with contextlib.suppress(LedgerError):
                process.ledger_thread.prepare(process.losses.store, process.losses.stored, begin=WRITE)
        return recorded

    def in_time(self, definition: Metric, work: _Work, waited_s: float = 0.0) -> Recorded:
        """Do work in the ledger thread. Return its outcome within a time limit, and never raise."""
        process = self._processes.current
        try:
            clock_s = self._clock.instant()
            if definition.has_expired(Window.at(definition.window, clock_s)):
                return Recorded.EXPIRED
            departure = process.uploader.departure(clock_s)
            transaction = partial(
                self._with_consent, definition=definition, work=work, clock_s=clock_s, leaves_s=departure.leaves_s
            )
            late = partial(self._conclude_late, process, definition, departure)
            timeout_s = max(0.0, RECORD_DEADLINE_S - waited_s)
            recorded: Recorded | None = process.ledger_thread.run_or_leave(transaction, timeout_s, late)
            if recorded is not None:  # only the ledger knows whether the clock was set back
                self._clock.problem = None
        except LedgerError as error:
            if isinstance(error, ClockError):
                self._clock.problem = str(error)  # the ledger's own problem is cleared by its next job
                # store the problem in the ledger, too, because this program may end soon
                note = partial(device.note_problem, about=device.CLOCK, sentence=str(error))
                with contextlib.suppress(LedgerError):
                    process.ledger_thread.prepare(note, begin=WRITE)
            if process.is_finished:
                return Recorded.CLOSED
            return error.recorded
        if recorded is None:
            return Recorded.WAITING
        self._announce(process, definition, departure, recorded)
        return recorded

    def _announce(self, process: Process, definition: Metric, departure: Departure, recorded: Recorded) -> None:
        if recorded is Recorded.COUNTED or definition.fill is not None:
            process.uploader.expect()  # upload times must not depend on whether something was recorded
        elif recorded is Recorded.QUEUED:
            process.uploader.notify(departure)

    def _conclude_late(
        self, process: Process, definition: Metric, departure: Departure, result: Recorded | LedgerError
    ) -> None:
        """In the ledger thread, note the outcome of an answer after `record` stopped waiting."""
        recorded = result.recorded if isinstance(result, LedgerError) else result
        self._announce(process, definition, departure, recorded)
        process.uploader.go_on()
        self.conclude(recorded)

    def _with_consent(
        self, connection: sqlite3.Connection, definition: Metric, work: _Work, clock_s: float, leaves_s: float
    ) -> Recorded:
        """Do the work in the ledger thread, unless the user has opted out in the meantime."""
        is_taken = self._schedule.agreement.takes(definition.name)
        return work(connection, clock_s, leaves_s) if is_taken else Recorded.NO_CONSENT

    def catch_up(self, connection: sqlite3.Connection, clock_s: float) -> None:
        """In the ledger thread, do the work that is due, unless the user has opted out."""
        if self._schedule.agreement.consent:
            self._schedule.catch_up(connection, clock_s)
