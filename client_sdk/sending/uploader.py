"""The thread that sends waiting reports.

The app waits for the thread only in `Telemetry.flush`, and briefly when it closes a `Telemetry`.

`client_sdk.sending.timing` decides when uploads are sent. `client_sdk.sending.transactions` chooses
uploads, and the ledger stores uploads.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from client_sdk.answers.schedule import Schedule
from client_sdk.host import forks
from client_sdk.ledger import erase
from client_sdk.ledger.backoff import Uniform, jitter
from client_sdk.ledger.thread import BARE, LedgerThread
from client_sdk.results import ClockError, Flushed, FlushOutcome, LedgerBusyError, LedgerError, warn
from client_sdk.sending.timing import LEDGER_DEADLINE_S, Departure, Departures
from client_sdk.sending.transport import Transport

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.answers.budget_alerts import BudgetWatch
    from client_sdk.ledger.retry_times import Retry
    from client_sdk.protocol.wire.failure import Failure
    from client_sdk.sending.responses import AttemptOutcome, Reply
    from client_sdk.sending.transactions import Found, Look


class _State(Enum):
    WAITING = "a report may wait"
    PENDING = "a report waits until it is due"
    EMPTY = "no report waits"
    BROKEN = "the ledger cannot be used"


class Uploader:
    """Sends waiting reports, in one process.

    Attributes:
        problem: the problem with the latest upload, and advice; None if the collector counted all
            reports in the upload.
    """

    def __init__(  # noqa: PLR0913 the objects that it connects
        self,
        ledger_thread: LedgerThread,
        transport: Transport,
        schedule: Schedule,
        *,
        clock: Callable[[], float],
        uniform: Uniform = jitter,
        watch: BudgetWatch | None = None,
    ) -> None:
        """Store the settings; `start`, `notify`, `expect` or `flush` starts the thread.

        ``clock`` returns the Unix time, which determines windows. ``uniform(a, b)`` returns a
        random delay of a to b seconds. The app chooses fractions of the device's lifetime budget,
        and ``watch`` calls the app when the device has spent one of these fractions.
        """
        self.problem: str | None = None
        self._ledger_thread = ledger_thread
        self._transport = transport
        self._schedule = schedule
        self._clock = clock
        self._departures = Departures(uniform)
        self._watch = watch
        self._changed = threading.Condition()
        self._state = _State.WAITING
        self._flushes = 0
        self._delivered = 0
        self._failure: FlushOutcome | None = None
        self._is_refused = self._has_dropped = False
        self._hurried = False
        self._stopped = self._has_ended = False
        self._then: Callable[[], None] = lambda: None
        self._thread: threading.Thread | None = None

    def start(self, later_s: float = 0.0) -> None:
        """Send the reports of earlier processes, now or after ``later_s`` seconds."""
        with self._changed:
            look = self._departures.look_later if later_s else self._departures.look
            look(time.monotonic() + later_s)
            self._wake()

    def departure(self, clock_s: float) -> Departure:
        """Return when to send a report recorded now.

        The report leaves within a minute, at the same time as other new reports.
        """
        with self._changed:
            return self._departures.next_departure(time.monotonic(), clock_s)

    def notify(self, departure: Departure) -> None:
        """Tell the thread to send a new report at ``departure``."""
        with self._changed:
            self._state = _State.WAITING
            self._departures.notify(departure)
            self._wake()

    def go_on(self) -> None:
        """Tell waiting calls of `flush` that an answer in memory has reached the ledger."""
        with self._changed:
            if self._flushes:
                self._state, self._hurried = _State.WAITING, True
                self._departures.look(time.monotonic())
            self._changed.notify_all()

    def expect(self) -> None:
        """Start the thread, so that it does the work that becomes due as time passes."""
        with self._changed:
            if self._thread is None:
                self._departures.expect(time.monotonic())
                self._wake()

    def flush(self, timeout_s: float) -> Flushed:
        """Send new reports now.

        If there are no new reports, send one upload again before its planned time.

        Delays that the collector has requested still apply. The random pause between an upload and
        the retry of another upload applies, too. A flush waits for its own requests, but not for
        requests that are planned for later. The flush ends as soon as nothing more can be sent now,
        or after ``timeout_s`` seconds.
        """
        with self._changed:
            self._state = _State.WAITING
            self._departures.look(time.monotonic())
            self._hurried, self._failure, self._is_refused, self._has_dropped = True, None, False, False
            self._wake()
            if self._thread is None:
                return Flushed(FlushOutcome.UNAVAILABLE)
            delivered = self._delivered
            self._flushes += 1
            self._changed.wait_for(self._is_done, timeout_s)
            self._flushes -= 1
            return self._flushed(is_new=self._delivered > delivered)

    def _is_done(self) -> bool:
        goes_on = self._state is _State.PENDING and self._departures.next_s <= time.monotonic()
        return self._stopped or not (goes_on or self._state is _State.WAITING or self._ledger_thread.has_left)

    def _flushed(self, *, is_new: bool) -> Flushed:
        match self._state:
            case _ if self._ledger_thread.has_left and not self._stopped:
                return Flushed(FlushOutcome.TIMED_OUT)
            case _State.EMPTY if self._has_dropped:
                return Flushed(FlushOutcome.REFUSED)
            case _State.EMPTY:
                return Flushed(FlushOutcome.SENT if is_new else FlushOutcome.NOTHING_WAITING)
            case _State.PENDING:
                outcome = FlushOutcome.REFUSED if self._is_refused else FlushOutcome.NOT_DUE
                return Flushed(self._failure or outcome, self._next_attempt_s())
            case _State.BROKEN:
                return Flushed(FlushOutcome.UNAVAILABLE)
            case _:
                return Flushed(FlushOutcome.CLOSED if self._stopped else FlushOutcome.TIMED_OUT)

    def _next_attempt_s(self) -> float | None:
        try:
            return self._clock() + self._departures.next_s - time.monotonic()
        except ClockError:
            return None

    def stop(self, then: Callable[[], None] = lambda: None) -> None:
        """Send no more requests. Call ``then`` now or, during a request, after this request."""
        with self._changed:
            self._stopped = True
            self._then = then
            self._changed.notify_all()
            is_over = self._thread is None or self._has_ended
        if is_over:
            then()

    def join(self, timeout_s: float) -> None:
        """Wait up to ``timeout_s`` seconds for the thread to end."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _wake(self) -> None:
        if self._thread is None and not self._stopped:
            thread = threading.Thread(target=self._serve, name="hearsay-uploader", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return  # the reports stay queued for a later attempt
            self._thread = thread
        self._changed.notify_all()

    def _serve(self) -> None:
        while self._wait_until_due():
            try:
                self._attempt()
            except LedgerBusyError:
                self._back_off(_State.WAITING)
            except LedgerError:
                self._back_off(_State.BROKEN)
            except Exception as error:  # noqa: BLE001 no failure, such as a clock's, may end the thread
                warn("an upload failed: %s", type(error).__name__)
                self._back_off(_State.BROKEN)
        with self._changed:
            self._has_ended = True
        self._then()

    def _wait_until_due(self) -> bool:
        """Wait for the next attempt; return False if there will be no further attempt."""
        with self._changed:
            while not self._stopped:
                next_s = self._departures.next_look_s
                left_s = next_s - time.monotonic()
                if left_s <= 0:
                    if self._state is _State.PENDING:
                        self._state = _State.WAITING
                    return True
                self._changed.wait(None if math.isinf(next_s) else min(left_s, threading.TIMEOUT_MAX))
            return False

    def _attempt(self) -> None:
        with forks.importing():
            from client_sdk.sending import transactions  # noqa: PLC0415 3 ms, and short programs send nothing
        with self._changed:
            (news, retry), hurried = self._departures.take(time.monotonic()), False
            if news:
                hurried, self._hurried = self._hurried, False
            leaves_early = hurried or self._flushes > 0
        if news:
            look_at = partial(transactions.look_for_news, schedule=self._schedule, hurried=leaves_early)
        else:
            look_at = partial(transactions.look_for_retry, schedule=self._schedule, retry=retry)
        try:
            look_now: Callable[[sqlite3.Connection], Found] = partial(look_at, now_s=self._clock())
        except ClockError as error:
            look_now = partial(_refuse, error)  # the ledger thread reports the problem
        look = transactions.attempt(
            partial(self._ledger_thread.run, timeout_s=LEDGER_DEADLINE_S),
            look_now,
            self._transport,
            self._clock,
            self._departures.uniform,
            covers=self._schedule.agreement.is_covered,
            before=self._follow_up,
            note=self._note,
        )
        match look.sent:
            case transactions.Departed.NOTHING:
                self._plan(look.pending, hurried=hurried)
                self._rest(look, news=news)
            case transactions.Departed.WITHHELD:
                self._back_off(_State.WAITING)  # the next look drops the upload, unless the user agrees again
            case transactions.Departed.UPLOAD:
                with self._changed:
                    self._has_dropped |= look.has_dropped
                self._plan(look.pending)
                self._go_on(news=news)

    def _note(self, upload: str, reply: Reply | Failure | None, outcome: AttemptOutcome, problem: str | None) -> None:
        """Store the result of an attempt for `problem` and for calls of `flush`.

        Also delay the retries of all other uploads.
        """
        from client_sdk.sending.responses import Acknowledged, Rejected, Reply, Transient  # noqa: PLC0415 4 ms

        self.problem = problem
        with self._changed:
            self._departures.part(upload, time.monotonic())
            match outcome:
                case Transient():
                    self._failure = FlushOutcome.REFUSED if isinstance(reply, Reply) else FlushOutcome.OFFLINE
                case Acknowledged(verdict, _):
                    self._delivered += 1
                    self._is_refused |= bool(verdict.refused)
                case Rejected():
                    self._is_refused = True

    def _follow_up(self) -> None:
        """Erase traces of deleted counts, and let ``watch`` check the spent budget."""
        if self._schedule.dues.has_leftovers:
            with contextlib.suppress(LedgerBusyError):
                self._ledger_thread.run(erase.empty_log, LEDGER_DEADLINE_S, begin=BARE)
                self._schedule.dues.has_leftovers = False
        if self._watch is not None and self._schedule.agreement.consent:
            self._watch.look(self._ledger_thread)

    def _plan(self, pending: list[Retry], *, hurried: bool = False) -> None:
        clock_s = self._clock()
        with self._changed:
            self._departures.plan(pending, clock_s, time.monotonic(), hurried=hurried)

    def _rest(self, look: Look, *, news: bool) -> None:
        """Conclude an attempt that sent nothing.

        If the attempt was a look for new reports, plan the next look.
        """
        with self._changed:
            if news:
                self._departures.rest(time.monotonic(), look.due_in_s, keeps_news=look.keeps_news)
                if look.leaving is not None and not look.keeps_news:
                    departure = Departure(time.monotonic() + look.leaving.in_s, look.leaving.leaves_s)
                    self._departures.notify(departure)
            self._conclude()

    def _go_on(self, *, news: bool) -> None:
        with self._changed:
            flushing = self._flushes > 0
            self._departures.go_on(time.monotonic(), news=news, hurried=self._hurried, flushing=flushing)
            self._conclude()

    def _conclude(self) -> None:
        """After an attempt, store whether reports still wait, and wake waiting calls of `flush`."""
        self._departures.succeed()
        self._state = _State.EMPTY if math.isinf(self._departures.next_s) else _State.PENDING
        self._changed.notify_all()

    def _back_off(self, state: _State) -> None:
        with self._changed:
            self._departures.back_off(time.monotonic())
            self._state = state
            self._changed.notify_all()


def _refuse(error: ClockError, _: sqlite3.Connection) -> NoReturn:
    raise error
