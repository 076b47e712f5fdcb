"""The thread that sends what waits, and never while the host waits for it.

New reports leave at a random instant soon after they may; what was sent before, at its own time (`client_sdk.ledger.retries`).
The two never meet: no answer to one upload decides when another leaves, or what it holds.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from enum import Enum
from functools import partial
from os import urandom
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers.budget_alerts import BudgetWatch
from client_sdk.answers.schedule import Agenda
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger import outbox, retries
from client_sdk.ledger.backoff import Uniform, next_delay_s
from client_sdk.ledger.retries import Retry
from client_sdk.ledger.thread import BARE, Keeper
from client_sdk.results import ClockError, LedgerBusyError, LedgerError, warn
from client_sdk.sending.retry import Acknowledged, Outcome, Rejected, Reply, Transient, explain, judge
from client_sdk.sending.transport import Transport

if TYPE_CHECKING:
    import sqlite3

SPREAD_S = 60.0
"""A report leaves at a random instant within a minute: its arrival does not tell when the user did something."""

APART_S = 900.0
"""An upload that was sent before leaves within a quarter of an hour after another one, or after its time if that is
later: devices with something to send twice are then no more alike than all that send in that time."""

LEDGER_DEADLINE_S = 5.0
"""How long this thread waits for the ledger: nobody waits for this thread."""

LONGEST_REST_S = 3600.0
"""What is due by the calendar is looked at so often, because a computer that sleeps stops the clock that waits."""


class _State(Enum):
    WAITING = "something may wait"
    PENDING = "something waits for its time"
    EMPTY = "nothing waits"
    BROKEN = "the ledger cannot be used"


class _Wake(NamedTuple):
    """When an upload is sent again: an instant of the monotonic clock. Without one, the ledger is looked at anew."""

    at_s: float
    retry: Retry | None


class _Look(NamedTuple):
    """What the ledger held.

    Attributes:
        parcel: what to send, or none.
        pending: the uploads under way.
        keeps_news: whether there is something new whose turn another upload takes.
        due_in_s: in how many seconds something will be due by the calendar, or none.

    """

    parcel: outbox.Parcel | None
    pending: list[Retry]
    keeps_news: bool = False
    due_in_s: float | None = None


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
        self._again: _Wake | None = None
        self._apart_s = 0.0
        self._latest: str | None = None
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
        """Send now what is new, or else what was sent before and waits for its time: of several such, one.

        What the collector asked for still holds, and so does what keeps uploads apart.

        Returns:
            Whether nothing waits any more; false as soon as nothing more can be sent within ``timeout_s`` seconds.

        """
        with self._changed:
            end_s = time.monotonic() + timeout_s
            self._state = _State.WAITING
            self._due_s = time.monotonic()
            self._rests = False
            self._hurried = True
            self._wake()
            if self._thread is None:
                return False
            self._flushes += 1
            self._changed.wait_for(lambda: self._is_done(end_s), timeout_s)
            self._flushes -= 1
            return self._state is _State.EMPTY

    def _is_done(self, end_s: float) -> bool:
        """Whether a flush until an instant has nothing to wait for."""
        waits = self._state is _State.WAITING or (self._state is _State.PENDING and self._next_s() <= end_s)
        return self._stopped or not waits

    def _next_s(self) -> float:
        """Return the monotonic instant of the next attempt for what waits already."""
        due_s = math.inf if self._due_s is None or self._rests else self._due_s
        return due_s if self._again is None else min(due_s, self._again.at_s)

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
                self._back_off(_State.WAITING)
            except LedgerError:
                self._back_off(_State.BROKEN)
            except Exception as error:  # noqa: BLE001 the thread must outlive whatever it meets, as a clock that raises
                warn("an attempt to upload failed: %s", type(error).__name__)
                self._back_off(_State.BROKEN)

    def _wait_until_due(self) -> bool:
        """Wait for the next attempt; return false when there will be none."""
        with self._changed:
            while not self._stopped:
                next_s = min(self._next_s(), math.inf if self._due_s is None else self._due_s)
                left_s = next_s - time.monotonic()
                if left_s <= 0:
                    if self._state is _State.PENDING:
                        self._state = _State.WAITING
                    return True
                self._changed.wait(None if math.isinf(next_s) else min(left_s, threading.TIMEOUT_MAX))
            return False

    def _attempt(self) -> None:
        with self._changed:
            news, again, hurried = self._due_s is not None and self._due_s <= time.monotonic(), self._again, False
            if news:
                self._due_s, self._rests = None, False
                hurried, self._hurried = self._hurried, False
            self._again = None
        work = self._look_for_news if news else partial(self._look_again, wake=again)
        look = self._keeper.run(partial(work, now_s=self._clock()), LEDGER_DEADLINE_S)
        self._follow_up()
        if look.parcel is None:
            self._plan(look.pending, hurried=hurried)
            self._rest(look, news=news)
        elif self._allowed():
            reply = self._post(look.parcel.body)
            outcome = judge(reply, look.parcel.reports, self._clock())
            self.problem = explain(reply) if isinstance(outcome, Transient) else None
            self._part(look.parcel)
            obey = partial(self._obey, outcome=outcome, parcel=look.parcel, now_s=self._clock())
            self._plan(self._keeper.run(obey, LEDGER_DEADLINE_S))
            self._go_on(news=news)

    def _look_for_news(self, connection: sqlite3.Connection, now_s: float) -> _Look:
        """Do what is due by the calendar; return what is new to send."""
        due_in_s = None
        if self._allowed():
            try:
                self._agenda.begin(connection, now_s)
                next_s = self._agenda.next_s(connection, now_s)
                due_in_s = None if next_s is None else next_s - now_s
            except ClockError:  # what was queued before is sent all the same
                due_in_s = LONGEST_REST_S
        parcel = outbox.new_parcel(connection, now_s)
        keeps_news = parcel is None and outbox.has_news(connection, now_s)
        return _Look(parcel, retries.pending(connection), keeps_news, due_in_s)

    def _look_again(self, connection: sqlite3.Connection, now_s: float, wake: _Wake | None) -> _Look:
        """Return the upload to send again, if it is still there."""
        parcel = None
        if wake is not None and wake.retry is not None:
            parcel = outbox.same_parcel(connection, wake.retry, now_s)
        return _Look(parcel, retries.pending(connection))

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

    def _obey(
        self, connection: sqlite3.Connection, outcome: Outcome, parcel: outbox.Parcel, now_s: float
    ) -> list[Retry]:
        """Do with an upload as its answer says; return the uploads that are then under way."""
        match outcome:
            case Transient(retry_after_s):
                retries.fail(connection, parcel.id, now_s, retry_after_s, self._uniform)
            case Rejected(status):
                warn("the collector rejected an upload of %d reports with status %d", parcel.reports, status)
                outbox.reject(connection, parcel.id)
            case Acknowledged(verdict):
                for code in {refusal for _, refusal in verdict.refused}:
                    warn("the collector refused a report: %s", code.sentence)
                outbox.settle(connection, parcel.id, verdict, now_s, self._uniform)
        return retries.pending(connection)

    def _part(self, parcel: outbox.Parcel) -> None:
        """Keep what is sent next, unless it is the same again or new, apart from an upload that has just been sent."""
        self._latest = parcel.id
        self._apart_s = time.monotonic() + self._uniform(0.0, APART_S)

    def _plan(self, pending: list[Retry], *, hurried: bool = False) -> None:
        """Choose what is sent again next, and when; of uploads that may leave at once, the least recently tried."""
        clock_s, now_s = self._clock(), time.monotonic()
        wakes = []
        for retry in pending:
            wait_s = retry.wait_s(clock_s, hurried=hurried)
            at_s = now_s + min(wait_s, LONGEST_REST_S)
            if retry.upload != self._latest:
                at_s = max(at_s, self._apart_s)
            wakes.append(_Wake(at_s, retry if wait_s <= LONGEST_REST_S else None))
        with self._changed:
            self._again = min(wakes, key=lambda wake: wake.at_s, default=None)

    def _rest(self, look: _Look, *, news: bool) -> None:
        """Wait for what is due by the calendar, where news were looked for."""
        with self._changed:
            self._failures = 0
            if news and self._due_s is None:  # else something was queued since the ledger was asked
                self._rests = not look.keeps_news
                if look.keeps_news:
                    self._due_s = time.monotonic() + self._uniform(0.0, APART_S)
                elif look.due_in_s is not None:
                    self._due_s = time.monotonic() + min(look.due_in_s + self._uniform(0.0, SPREAD_S), LONGEST_REST_S)
            self._conclude()

    def _go_on(self, *, news: bool) -> None:
        """Look for more that is new after an upload that was; after another, leave news their own time.

        What became due while an upload was sent has another time: its instant would follow the end of that exchange.
        """
        with self._changed:
            self._failures = 0
            now_s = time.monotonic()
            if news or (self._due_s is not None and self._due_s <= now_s and not self._hurried):
                self._rests = False
                self._due_s = now_s + (0.0 if self._flushes else self._uniform(0.0, SPREAD_S))
            self._conclude()

    def _conclude(self) -> None:
        """Take note of what waits after an attempt, and tell those who flush."""
        self._state = _State.EMPTY if math.isinf(self._next_s()) else _State.PENDING
        self._changed.notify_all()

    def _back_off(self, state: _State) -> None:
        """Look at the ledger again later: it could not be used."""
        with self._changed:
            self._due_s = time.monotonic() + next_delay_s(self._failures, 0.0, self._uniform)
            self._rests = False
            self._failures += 1
            self._state = state
            self._changed.notify_all()
