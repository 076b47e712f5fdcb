"""Calls the app's functions that return answers, once in each window.

Only the calendar decides when a function is called: after a window has begun, or when the program
starts within a window. Before the call, one transaction does three things:

* The transaction *claims* the window, so that no other process calls its function for this window.
* The transaction charges the budget.
* The transaction queues a *placeholder*. If the metric has a fill (``fill_in`` in the registry),
  the placeholder says "no answer". Otherwise, the placeholder contains a random answer.

Therefore the report is sent at the same time whatever the function does, even if the function ends
the process.

The return value is immediately randomized to a symbol. A second transaction puts the symbol into
the placeholder. The second transaction takes place `CALL_S` seconds after the claim or when the
program ends, even if the function has not returned a value. Therefore neither the ledger's file nor
its timestamps reveal what the function did.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from client_sdk.answers import calendar, reporting
from client_sdk.answers.mistakes import Mistakes
from client_sdk.answers.randomized import Randomized, SymbolOfWindow, symbol_of
from client_sdk.answers.schedule import Schedule
from client_sdk.host.clock import Clock
from client_sdk.ledger import charges, queue
from client_sdk.ledger.backoff import jitter
from client_sdk.ledger.charges import Slot, SlotKey
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.ledger.status import present_s
from client_sdk.ledger.thread import READ, LedgerThread
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import Report
from client_sdk.results import LedgerError, Recorded, warn

if TYPE_CHECKING:
    import sqlite3

CALL_S = 5.0
"""How long, in seconds, a function may run before its return value is ignored. Reading a slow disk
or a local database takes less time."""

HELD_S = CALL_S + 2.0
"""How long, in seconds, a placeholder waits before it may be sent, even by a flush."""

CLAIM_S = 1.0
"""How long, in seconds, `Provider.provide` waits for the claim. Opening a ledger takes 30 ms on an
idle machine."""

PATIENCE_S = 0.1
"""How long, in seconds, `Provider.provide` waits for the function after the claim."""

LEDGER_DEADLINE_S = 5.0
"""How long, in seconds, the provider's thread waits for a transaction. The app waits only
`CLAIM_S`."""

LOOK_AGAIN_S = 60.0
"""The pause, in seconds, before the next attempt if the ledger or the clock could not be used."""

LONGEST_REST_S = 3600.0
"""The longest pause, in seconds, between two readings of the clock. Timeouts do not advance while a
computer sleeps."""

_RELEASE = "UPDATE queue SET release = ? WHERE metric = ? AND edition = ? AND window = ? AND release = 0"


@dataclass(slots=True, eq=False)
class _Asked:
    """A call in progress. If ``is_over``, the return value is ignored."""

    key: SlotKey
    until_s: float
    randomized: Randomized | None = None
    has_returned: bool = False
    is_over: bool = False


@dataclass(slots=True, eq=False)
class _Provided:
    """A function that the app provides for a metric, and when to call it.

    Attributes:
        due_s: the earliest Unix time of the next call.
        look_s: the monotonic time at which to check again whether a call is due.
        is_running: whether the function still runs, perhaps since an earlier window.
    """

    definition: Metric
    function: Callable[[], object]
    due_s: float = 0.0
    look_s: float = -math.inf
    call: _Asked | None = None
    is_running: bool = False

    @property
    def next_s(self) -> float:
        return self.look_s if self.call is None else self.call.until_s

    @property
    def was_looked_at(self) -> bool:
        return self.call is not None or self.look_s > -math.inf

    @property
    def is_settled(self) -> bool:
        """Whether the function has returned, or no call was due."""
        return self.call is None or self.call.has_returned


class Provider:
    """Calls the functions that an app provides, in one process."""

    def __init__(  # noqa: PLR0913 the objects that it connects
        self,
        ledger_thread: LedgerThread,
        schedule: Schedule,
        *,
        mistakes: Mistakes,
        clock: Clock,
        coins: Coins,
        leave: Callable[[float, float], None],
    ) -> None:
        """Store the arguments.

        The first call of `provide` starts the thread that decides when to call each function. After
        a claim for a metric without a fill, ``leave`` is called with the number of seconds until
        the placeholder is sent, and with the current Unix time.
        """
        self._ledger_thread = ledger_thread
        self._schedule = schedule
        self._mistakes = mistakes
        self._clock = clock
        self._coins = coins
        self._leave = leave
        self._changed = threading.Condition()
        self._stepping = threading.Lock()
        self._provided: dict[str, _Provided] = {}
        self._has_ended = False
        self._thread: threading.Thread | None = None

    def provide(self, definition: Metric, function: Callable[[], object]) -> None:
        """Call a function in each window of its metric; if a call is due now, briefly wait for it.

        Because of the wait, a program may end immediately after this method returns.
        """
        with self._changed:
            provided = self._provided.setdefault(definition.name, _Provided(definition, function))
            provided.function, provided.due_s, provided.look_s = function, 0.0, -math.inf
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="hearsay-provider", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # out of memory, or the program is ending
                    self._thread = None
                    return
            self._changed.notify_all()
            if self._changed.wait_for(lambda: provided.was_looked_at or self._has_ended, CLAIM_S):
                self._changed.wait_for(lambda: provided.is_settled or self._has_ended, PATIENCE_S)

    def look(self) -> None:
        """Check again which functions to call, because the user's consent has changed."""
        with self._changed:
            for provided in self._provided.values():
                provided.due_s, provided.look_s = 0.0, -math.inf
            self._changed.notify_all()

    def end(self) -> None:
        """Stop calling functions. Ignore the return values of functions that are still running."""
        with self._changed:
            self._has_ended = True
            calls = [self._over(each) for each in self._provided.values() if each.call is not None]
            self._changed.notify_all()
        for definition, call in calls:
            self._store(definition, call, 0.0)

    def hurry(self) -> None:
        """For tests: call all functions that are due, and store each answer immediately."""
        with self._stepping:
            provided = list(self._provided.values())
            for each in provided:
                self._await(each)
                each.due_s = 0.0
                self._look(each)
            for each in provided:
                self._await(each)

    def _await(self, each: _Provided) -> None:
        with self._changed:
            self._changed.wait_for(lambda: each.call is None or each.call.has_returned, CALL_S)
        self._conclude(each)

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._has_ended:
                    now_s = time.monotonic()
                    left_s = min((each.next_s for each in self._provided.values()), default=math.inf) - now_s
                    if left_s <= 0:
                        break
                    self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
                if self._has_ended:
                    return
                due = [each for each in self._provided.values() if each.next_s <= now_s]
            with self._stepping:
                for each in due:
                    try:
                        (self._look if each.call is None else self._conclude)(each)
                    except Exception as error:  # noqa: BLE001 no failure, such as a clock's, may end the thread
                        warn("a provided function could not be called: %s", type(error).__name__)
                        each.look_s = time.monotonic() + LOOK_AGAIN_S

    def _look(self, each: _Provided) -> None:
        """Call a function if it is due and no other process has claimed the window."""
        definition = each.definition
        wait_s, key = LOOK_AGAIN_S, None
        if not self._schedule.agreement.takes(definition.name):
            wait_s = LONGEST_REST_S
        elif (clock_s := self._clock.instant_or_zero()) >= each.due_s:
            with contextlib.suppress(LedgerError):  # `problem` reports it
                clock_s = self._clock.instant()
                key = self._claim(definition, clock_s)
                each.due_s = calendar.release_s(Window.at(definition.window, clock_s), self._coins)
                wait_s = min(each.due_s - clock_s, LONGEST_REST_S)
        else:
            wait_s = min(each.due_s - clock_s, LONGEST_REST_S)
        with self._changed:
            each.look_s = time.monotonic() + wait_s
            if key is not None and not self._has_ended and self._schedule.agreement.takes(definition.name):
                each.call = _Asked(key, time.monotonic() + CALL_S)
                if not each.is_running:
                    self._start(each, each.call)
            self._changed.notify_all()

    def _start(self, each: _Provided, call: _Asked) -> None:
        """Call a function in a new thread, if a thread can be started."""
        run = partial(self._run, each, each.function, call)
        with contextlib.suppress(RuntimeError):  # out of memory
            threading.Thread(target=run, name="hearsay-provided", daemon=True).start()
            each.is_running = True

    def _claim(self, definition: Metric, clock_s: float) -> SlotKey | None:
        """Charge the budget and queue a placeholder.

        Returns the placeholder's key, or None if no call is due.
        """
        leaves_in_s = jitter(HELD_S, SPREAD_S)
        work = partial(self._stand_in, clock_s=clock_s, definition=definition, leaves_s=clock_s + leaves_in_s)
        key: SlotKey | None = self._ledger_thread.run(work, LEDGER_DEADLINE_S)
        if key is not None and definition.fill is None:  # the report of a question with a fill is sent after the window
            self._leave(leaves_in_s, clock_s)
        return key

    def _stand_in(
        self, connection: sqlite3.Connection, clock_s: float, definition: Metric, leaves_s: float
    ) -> SlotKey | None:
        if not self._schedule.agreement.takes(definition.name):
            return None
        randomized = self._schedule.randomize(
            definition, _none(definition), partial(self._schedule.learn_secret, connection), lambda: clock_s
        )
        if self._schedule.record(connection, clock_s, definition, randomized, leaves_s) is not Recorded.QUEUED:
            return None
        instant_s = present_s(connection, clock_s)
        key = reporting.key_of(connection, definition, Window.at(definition.window, instant_s))
        charges.set_slot(connection, key, Slot.AWAITED)
        connection.execute(_RELEASE, (math.floor(instant_s + HELD_S), *key))
        return key

    def _run(self, each: _Provided, function: Callable[[], object], call: _Asked) -> None:
        randomized: Randomized | None = None
        try:
            randomized = self._randomized(each.definition, function, call)
        except BaseException as error:  # noqa: BLE001 Python would print it, and its frames contain the answer
            warn("the function provided for %s raised %s", each.definition.name, type(error).__name__)
        with self._changed:
            call.randomized = None if call.is_over else randomized
            call.has_returned, each.is_running = True, False
            self._changed.notify_all()

    def _randomized(self, definition: Metric, function: Callable[[], object], call: _Asked) -> Randomized | None:
        answer = function()
        if call.is_over:
            return None
        encode = _none(definition)
        if answer is not None or definition.fill is None:
            encode = partial(self._encode, definition, answer)
        del answer
        return self._schedule.randomize(definition, encode, self._read_secret, self._clock.instant_or_zero)

    def _encode(self, definition: Metric, answer: object, coins: Coins) -> Any:  # noqa: ANN401 a symbol, or a vector
        return self._mistakes.valid(
            definition, partial(definition.encode, answer, coins), partial(definition.draw, coins)
        )

    def _read_secret(self) -> Any:  # noqa: ANN401 what the schedule returns
        return self._ledger_thread.run(self._schedule.learn_secret, LEDGER_DEADLINE_S, begin=READ)

    def _conclude(self, each: _Provided) -> None:
        """End a call, and replace the symbol in its placeholder."""
        with self._changed:
            if each.call is None:
                return
            definition, call = self._over(each)
            if not call.has_returned:
                warn("the function provided for %s took more than %d s", definition.name, CALL_S)
        self._store(definition, call, LEDGER_DEADLINE_S)

    def _store(self, definition: Metric, call: _Asked, timeout_s: float) -> None:
        """Replace the symbol in a placeholder; retry if another process uses the ledger."""
        with contextlib.suppress(LedgerError):
            work = partial(self._replace, definition=definition, call=call)
            self._ledger_thread.run_or_leave(work, timeout_s, lambda _: None)

    def _over(self, each: _Provided) -> tuple[Metric, _Asked]:
        call, each.call = each.call, None
        assert call is not None  # noqa: S101 the callers have checked this
        call.is_over = True
        return each.definition, call

    def _replace(self, connection: sqlite3.Connection, definition: Metric, call: _Asked) -> None:
        if not self._schedule.agreement.takes(definition.name):
            return
        if charges.slot(connection, call.key) is not Slot.AWAITED:
            return  # the user has opted out during the call
        randomized = call.randomized
        if randomized is None:
            randomized = self._schedule.randomize(
                definition, _none(definition), partial(self._schedule.learn_secret, connection)
            )
        if not isinstance(randomized, SymbolOfWindow) or randomized.window.text == call.key[2]:
            symbol = symbol_of(connection, definition, randomized, self._coins)
            queue.replace_symbol(connection, Report(*call.key, symbol))
        charges.set_slot(connection, call.key, Slot.REPORTED)


def _none(definition: Metric) -> Callable[[Coins], Any]:
    """Return a function that draws the "no answer" input: the metric's fill, or a random input."""
    return definition.draw if definition.fill is None else partial(definition.encode, definition.fill.answer)
