"""The thread that sends what waits: when `client_sdk.outcome` says so, and never while the host waits for it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from enum import Enum
from functools import partial
from os import urandom
from typing import TYPE_CHECKING

from client_sdk import ledger_file, outbox
from client_sdk.agenda import Agenda
from client_sdk.budget_watch import BudgetWatch
from client_sdk.keeper import BARE, Keeper
from client_sdk.outcome import Acknowledged, Outcome, Rejected, Reply, Transient, Uniform, explain, judge, next_delay_s
from client_sdk.results import ClockError, LedgerBusyError, LedgerError, warn
from client_sdk.spec.report import Verdict
from client_sdk.transport import Transport

if TYPE_CHECKING:
    import sqlite3

SPREAD_S = 60.0
"""A report leaves at a random instant within a minute: its arrival does not tell when the user did something."""

LEDGER_DEADLINE_S = 5.0
"""How long this thread waits for the ledger: nobody waits for this thread."""

LONGEST_REST_S = 3600.0
"""What is due by the calendar is looked at so often, because a computer that sleeps stops the clock that waits."""


class _State(Enum):
    WAITING = "something may wait"
    EMPTY = "nothing waits"
    BROKEN = "the ledger cannot be used"


def jitter(low: float, high: float) -> float:
    """Return a random float from low to high, from the operating system."""
    return low + (high - low) * int.from_bytes(urandom(6), "big") / 2**48


class Uploader:
    """Sends what waits, in one process.

    Attributes:
        problem: why the latest attempt came to nothing and what to do, or none.

    """

    def __init__(  # noqa: PLR0913 what it stands between, named by the caller
        self,
        keeper: Keeper,
        transport: Transport,
        agenda: Agenda,
        *,
        clock: Callable[[], float],
        allowed: Callable[[], bool],
        uniform: Uniform = jitter,
        watch: BudgetWatch | None = None,
    ) -> None:
        """Prepare; the thread starts with the first call of `notify`, `expect` or `flush`.

        Args:
            keeper: the ledger's.
            transport: to the collector.
            agenda: what is due by the calendar.
            clock: Unix seconds, for windows and dates.
            allowed: whether the user agrees, asked before every upload.
            uniform: the source of jitter.
            watch: who tells the host how much of the budget is spent, or none.

        """
        self.problem: str | None = None
        self._keeper = keeper
        self._transport = transport
        self._agenda = agenda
        self._clock = clock
        self._allowed = allowed
        self._uniform = uniform
        self._watch = watch
        self._changed = threading.Condition()
        self._state = _State.WAITING
        self._due_s: float | None = None
        self._rests = False
        self._not_before_s = 0.0
        self._failures = 0
        self._flushes = 0
        self._hurried = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def notify(self) -> None:
        """Take note that a report may wait; it leaves within `SPREAD_S`, or when a back-off ends."""
        with self._changed:
            self._state = _State.WAITING
            if self._due_s is None or self._rests:
                self._due_s = time.monotonic() + self._uniform(0.0, SPREAD_S)
                self._rests = False
            self._wake()

    def expect(self) -> None:
        """Take note that something will be due by the calendar, which the thread, once started, looks at by itself."""
        with self._changed:
            if self._thread is None:
                self.notify()

    def flush(self, timeout_s: float) -> bool:
        """Send now what waits, whatever back-off is under way; only what the collector asked for still holds.

        Returns:
            Whether nothing waits any more; false at the latest after ``timeout_s`` seconds.

        """
        with self._changed:
            self._state = _State.WAITING
            self._due_s = max(time.monotonic(), self._not_before_s)
            self._rests = False
            self._hurried = True
            self._wake()
            if self._thread is None:
                return False
            self._flushes += 1
            self._changed.wait_for(lambda: self._state is not _State.WAITING or self._stopped, timeout_s)
            self._flushes -= 1
            return self._state is _State.EMPTY

    def stop(self) -> None:
        """Send nothing more; an upload that is under way is not waited for."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Wait so many seconds at most for the thread to end."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _wake(self) -> None:
        if self._thread is None and not self._stopped:
            thread = threading.Thread(target=self._serve, name="hearsay-uploader", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return  # no thread to be had: the reports stay queued for another day
            self._thread = thread
        self._changed.notify_all()

    def _serve(self) -> None:
        while self._wait_until_due():
            try:
                self._attempt()
            except LedgerBusyError:
                self._back_off(Transient())
            except LedgerError:
                self._back_off(Transient(), _State.BROKEN)
            except Exception as error:  # noqa: BLE001 the thread must outlive whatever it meets, as a clock that raises
                warn("an attempt to upload failed: %s", type(error).__name__)
                self._back_off(Transient(), _State.BROKEN)

    def _wait_until_due(self) -> bool:
        """Wait for the next attempt; return false when there will be none."""
        with self._changed:
            while not self._stopped:
                left_s = None if self._due_s is None else self._due_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    self._due_s = None
                    self._rests = False
                    self._hurried = False
                    return True
                self._changed.wait(left_s)
            return False

    def _attempt(self) -> None:
        parcel, due_in_s = self._keeper.run(partial(self._next, now_s=self._clock()), LEDGER_DEADLINE_S)
        self._follow_up()
        if parcel is None:
            self._rest(due_in_s)
        elif self._allowed():
            reply = self._post(parcel.body)
            outcome = judge(reply, parcel.reports, self._clock())
            self.problem = explain(reply) if isinstance(outcome, Transient) else None
            self._obey(outcome, parcel)

    def _next(self, connection: sqlite3.Connection, now_s: float) -> tuple[outbox.Parcel | None, float | None]:
        """Do what is due; return what to send, or in how many seconds something will be due."""
        due_in_s = None
        if self._allowed():
            try:
                self._agenda.begin(connection, now_s)
                next_s = self._agenda.next_s(connection, now_s)
                due_in_s = None if next_s is None else next_s - now_s
            except ClockError:  # what was queued before is sent all the same
                due_in_s = LONGEST_REST_S
        return outbox.next_parcel(connection, now_s), due_in_s

    def _follow_up(self) -> None:
        """Do what the ledger's transactions leave to be done; what fails now is done after the next attempt."""
        if self._agenda.has_leftovers:
            with contextlib.suppress(LedgerBusyError):
                self._keeper.run(ledger_file.empty_log, LEDGER_DEADLINE_S, begin=BARE)
                self._agenda.has_leftovers = False
        if self._watch is not None and self._allowed():
            self._watch.look(self._keeper)

    def _post(self, body: bytes) -> Reply | None:
        try:
            return self._transport.post(body)
        except Exception as error:  # noqa: BLE001 the thread must outlive whatever a transport meets
            warn("the transport failed: %s", type(error).__name__)
            return None

    def _obey(self, outcome: Outcome, parcel: outbox.Parcel) -> None:
        match outcome:
            case Transient():
                self._back_off(outcome)
            case Rejected(status):
                warn("the collector rejected an upload of %d reports with status %d", parcel.reports, status)
                self._keeper.run(partial(outbox.reject, upload_id=parcel.id), LEDGER_DEADLINE_S)
                self._go_on()
            case Acknowledged(verdict):
                self._settle(verdict, parcel)

    def _settle(self, verdict: Verdict, parcel: outbox.Parcel) -> None:
        settle = partial(outbox.settle, upload_id=parcel.id, verdict=verdict, now_s=self._clock())
        for code in {refusal for _, refusal in verdict.refused}:
            warn("the collector refused a report: %s", code.sentence)
        if self._keeper.run(settle, LEDGER_DEADLINE_S):
            self._back_off(Transient())
        else:
            self._go_on()

    def _rest(self, due_in_s: float | None) -> None:
        with self._changed:
            self._failures = 0
            if self._due_s is None:  # else something was queued since the ledger was asked
                self._state = _State.EMPTY
                if due_in_s is not None:
                    self._rests = True
                    self._due_s = time.monotonic() + min(due_in_s + self._uniform(0.0, SPREAD_S), LONGEST_REST_S)
            self._changed.notify_all()

    def _go_on(self) -> None:
        with self._changed:
            self._failures = 0
            spread_s = 0.0 if self._flushes else self._uniform(0.0, SPREAD_S)
            self._due_s = time.monotonic() + spread_s

    def _back_off(self, outcome: Transient, state: _State = _State.WAITING) -> None:
        with self._changed:
            now_s = time.monotonic()
            delay_s = next_delay_s(self._failures, outcome.retry_after_s, self._uniform)
            if self._hurried:  # a flush came during the attempt that failed, and has had none yet
                delay_s = outcome.retry_after_s
            self._due_s = now_s + delay_s
            self._not_before_s = now_s + outcome.retry_after_s
            self._failures += 1
            self._state = state
            self._changed.notify_all()
