"""The thread that sends waiting reports; the host never waits for it, except to flush.

New reports leave at a random instant soon after they may. An upload that was sent before leaves at
a time of its own, which `client_sdk.ledger.retries` keeps. The two are independent: no answer to
one upload decides when another leaves, or what it holds.
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
from typing import NamedTuple

from client_sdk.answers.budget_alerts import BudgetWatch
from client_sdk.answers.schedule import Schedule
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger import outbox
from client_sdk.ledger.backoff import Uniform, next_delay_s
from client_sdk.ledger.retries import Retry
from client_sdk.ledger.thread import BARE, LedgerThread
from client_sdk.results import LedgerBusyError, LedgerError, warn
from client_sdk.sending import transactions
from client_sdk.sending.retry import Reply, Transient, explain, judge
from client_sdk.sending.transactions import Look
from client_sdk.sending.transport import Transport

SPREAD_S = 60.0
"""A report leaves at a random instant within a minute, so that its arrival does not reveal when the
user did something."""

APART_S = 900.0
"""An upload that was sent before leaves within a quarter of an hour after another upload, or after
its own time if that is later. A device that resends then looks like any other that sends in that
time."""

LEDGER_DEADLINE_S = 5.0
"""How long this thread waits for the ledger. Nobody waits for this thread."""

LONGEST_REST_S = 3600.0
"""The longest time between looks at the calendar, because the clock that waits stops while a
computer sleeps."""


class _State(Enum):
    WAITING = "something may wait"
    PENDING = "something waits for its time"
    EMPTY = "nothing waits"
    BROKEN = "the ledger cannot be used"


class _Wake(NamedTuple):
    """When an upload is sent again: a monotonic instant. Without an upload, look at the ledger."""

    at_s: float
    retry: Retry | None


def jitter(low: float, high: float) -> float:
    """Return a random float from low to high, from the operating system."""
    return low + (high - low) * int.from_bytes(urandom(6), "big") / 2**48


class Uploader:
    """Sends waiting reports, in one process.

    Attributes:
        problem: why the latest attempt failed and what to do; None if it did not fail.

    """

    def __init__(  # noqa: PLR0913 what it stands between, named by the caller
        self,
        ledger_thread: LedgerThread,
        transport: Transport,
        schedule: Schedule,
        *,
        clock: Callable[[], float],
        allowed: Callable[[], bool],
        uniform: Uniform = jitter,
        watch: BudgetWatch | None = None,
    ) -> None:
        """Prepare; the thread starts with the first call of `notify`, `expect` or `flush`.

        Args:
            ledger_thread: the ledger.
            transport: the way to the collector.
            schedule: does what is due by the calendar.
            clock: returns Unix seconds, for windows and dates.
            allowed: returns whether the user agrees; called before every upload.
            uniform: the source of jitter.
            watch: tells the host how much of the budget is spent; None if nobody wants to know.

        """
        self.problem: str | None = None
        self._ledger_thread = ledger_thread
        self._transport = transport
        self._schedule = schedule
        self._clock = clock
        self._allowed = allowed
        self._uniform = uniform
        self._watch = watch
        self._changed = threading.Condition()
        self._state = _State.WAITING
        self._due_s: float | None = None
        self._rests = False
        self._retry_wake: _Wake | None = None
        self._apart_s = 0.0
        self._latest: str | None = None
        self._failures = 0
        self._flushes = 0
        self._hurried = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def notify(self) -> None:
        """Note that a report may wait; it leaves within `SPREAD_S`, or when a back-off ends."""
        with self._changed:
            self._state = _State.WAITING
            if self._due_s is None or self._rests:
                self._due_s = time.monotonic() + self._uniform(0.0, SPREAD_S)
                self._rests = False
            self._wake()

    def expect(self) -> None:
        """Start the thread, which looks at the calendar by itself from then on."""
        with self._changed:
            if self._thread is None:
                self.notify()

    def flush(self, timeout_s: float) -> bool:
        """Send new reports now; if there are none, send one upload that waits for its time.

        Pauses that the collector asked for still hold, and so does the time between uploads.

        Returns:
            True if nothing waits any more; False as soon as nothing more can be sent within
            ``timeout_s`` seconds.

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
        """Whether a flush that ends at an instant has nothing more to wait for."""
        waits = self._state is _State.WAITING or (self._state is _State.PENDING and self._next_s() <= end_s)
        return self._stopped or not waits

    def _next_s(self) -> float:
        """Return the monotonic instant of the next attempt to send what already waits."""
        due_s = math.inf if self._due_s is None or self._rests else self._due_s
        return due_s if self._retry_wake is None else min(due_s, self._retry_wake.at_s)

    def stop(self) -> None:
        """Send nothing more, without waiting for an upload under way."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

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
                return  # the reports stay queued for another day
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
            except Exception as error:  # noqa: BLE001 the thread must outlive any failure, such as a clock's
                warn("an attempt to upload failed: %s", type(error).__name__)
                self._back_off(_State.BROKEN)

    def _wait_until_due(self) -> bool:
        """Wait for the next attempt; return False if there will be none."""
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
            news, wake, hurried = self._due_s is not None and self._due_s <= time.monotonic(), self._retry_wake, False
            if news:
                self._due_s, self._rests = None, False
                hurried, self._hurried = self._hurried, False
            self._retry_wake = None
        if news:
            look_at = partial(transactions.look_for_news, schedule=self._schedule, allowed=self._allowed)
        else:
            look_at = partial(transactions.look_for_retry, retry=None if wake is None else wake.retry)
        look = self._ledger_thread.run(partial(look_at, now_s=self._clock()), LEDGER_DEADLINE_S)
        self._follow_up()
        if look.parcel is None:
            self._plan(look.pending, hurried=hurried)
            self._rest(look, news=news)
        elif self._allowed():
            reply = self._post(look.parcel.body)
            outcome = judge(reply, look.parcel.reports, self._clock())
            self.problem = explain(reply) if isinstance(outcome, Transient) else None
            self._part(look.parcel)
            carry_out = partial(
                transactions.carry_out,
                now_s=self._clock(),
                outcome=outcome,
                parcel=look.parcel,
                uniform=self._uniform,
            )
            self._plan(self._ledger_thread.run(carry_out, LEDGER_DEADLINE_S))
            self._go_on(news=news)

    def _follow_up(self) -> None:
        """Do what the transactions left to do; what fails is done after the next attempt."""
        if self._schedule.has_leftovers:
            with contextlib.suppress(LedgerBusyError):
                self._ledger_thread.run(ledger_file.empty_log, LEDGER_DEADLINE_S, begin=BARE)
                self._schedule.has_leftovers = False
        if self._watch is not None and self._allowed():
            self._watch.look(self._ledger_thread)

    def _post(self, body: bytes) -> Reply | None:
        try:
            return self._transport.post(body)
        except Exception as error:  # noqa: BLE001 the thread must outlive any failure of a transport
            warn("the transport failed: %s", type(error).__name__)
            return None

    def _part(self, parcel: outbox.Parcel) -> None:
        """Keep the next retry of another upload apart from the upload that has just been sent."""
        self._latest = parcel.id
        self._apart_s = time.monotonic() + self._uniform(0.0, APART_S)

    def _plan(self, pending: list[Retry], *, hurried: bool = False) -> None:
        """Choose the next retry and its time; of several due at once, the least recently tried."""
        clock_s, now_s = self._clock(), time.monotonic()
        wakes = []
        for retry in pending:
            wait_s = retry.wait_s(clock_s, hurried=hurried)
            at_s = now_s + min(wait_s, LONGEST_REST_S)
            if retry.upload != self._latest:
                at_s = max(at_s, self._apart_s)
            wakes.append(_Wake(at_s, retry if wait_s <= LONGEST_REST_S else None))
        with self._changed:
            self._retry_wake = min(wakes, key=lambda wake: wake.at_s, default=None)

    def _rest(self, look: Look, *, news: bool) -> None:
        """Wait for what is due by the calendar, if this attempt looked for new reports."""
        with self._changed:
            self._failures = 0
            if news and self._due_s is None:  # otherwise a report was queued meanwhile
                self._rests = not look.keeps_news
                if look.keeps_news:
                    self._due_s = time.monotonic() + self._uniform(0.0, APART_S)
                elif look.due_in_s is not None:
                    self._due_s = time.monotonic() + min(look.due_in_s + self._uniform(0.0, SPREAD_S), LONGEST_REST_S)
            self._conclude()

    def _go_on(self, *, news: bool) -> None:
        """Look for more new reports after sending new ones; leave them their time after a retry.

        New reports that became due during the exchange get another instant: theirs would follow
        directly upon the end of the exchange.
        """
        with self._changed:
            self._failures = 0
            now_s = time.monotonic()
            if news or (self._due_s is not None and self._due_s <= now_s and not self._hurried):
                self._rests = False
                self._due_s = now_s + (0.0 if self._flushes else self._uniform(0.0, SPREAD_S))
            self._conclude()

    def _conclude(self) -> None:
        """Note what waits after an attempt, and wake those who flush."""
        self._state = _State.EMPTY if math.isinf(self._next_s()) else _State.PENDING
        self._changed.notify_all()

    def _back_off(self, state: _State) -> None:
        """Look at the ledger later, because it could not be used."""
        with self._changed:
            self._due_s = time.monotonic() + next_delay_s(self._failures, 0.0, self._uniform)
            self._rests = False
            self._failures += 1
            self._state = state
            self._changed.notify_all()
