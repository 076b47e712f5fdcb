"""The methods of `Telemetry` that send reports, and show reports, the spent budget and problems.

The methods in this module never handle answers, and handle reports only after the reports were
sent.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, SupportsFloat, TypeVar

from client_sdk.answers import participation
from client_sdk.answers.schedule import Schedule
from client_sdk.host.clock import Clock
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger import registries, status
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.status import present_s, read_status, status_of
from client_sdk.ledger.thread import READ
from client_sdk.per_process import Processes
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import ENGLISH
from client_sdk.results import SUPPRESSED, BudgetStatus, Flushed, FlushOutcome, HistoryEntry, LedgerError

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

READ_DEADLINE_S = 2.0
"""How long, in seconds, `history` and `budget` wait for the ledger. People prefer waiting to an
error."""


class Disclosure:
    """The part of `client_sdk.Telemetry` that sends reports, and shows what was sent and spent."""

    _registry: Registry
    _path: Path | None
    _schedule: Schedule
    _processes: Processes
    _clock: Clock
    _closed: bool
    _strict: bool

    def flush(self, timeout_s: float = 5.0) -> Flushed:
        """Send waiting reports now, and wait for the result.

        New reports are sent in new uploads. If there are no new reports, one earlier upload that
        has had no response is sent again before its planned retry. Sending several uploads at once
        would show that they come from the same device. A delay that the collector has requested
        still applies. A temporarily refused report still waits for its planned time.

        >>> telemetry.flush().outcome
        <FlushOutcome.NOTHING_WAITING: 'nothing_waiting'>

        Returns:
            The outcome, and the time of the next attempt. The method returns as soon as nothing
            more can be sent now, but at the latest after ``timeout_s`` seconds. The result is true
            only if no report is left to send, except reports that wait for their window to end.

        Raises:
            TypeError: if ``strict`` is true, and ``timeout_s`` is not a number. If ``strict`` is
                false, a value that is not a number counts as 0.
        """
        if self._strict and not isinstance(timeout_s, SupportsFloat):
            raise TypeError("timeout_s must be a number of seconds")
        try:
            # the comparison is also false for NaN
            timeout_s = float(min(timeout_s, threading.TIMEOUT_MAX)) if timeout_s > 0 else 0.0
        except Exception:  # noqa: BLE001 comparing an arbitrary object may raise anything
            timeout_s = 0.0
        if self._schedule.agreement.consent and not self._closed:
            return self._processes.current.uploader.flush(timeout_s)
        if self._closed:
            return Flushed(FlushOutcome.CLOSED)
        if self._schedule.agreement.consent is SUPPRESSED:
            return Flushed(FlushOutcome.SUPPRESSED)
        try:
            waiting = self._ask(status.waiting, empty=0, timeout_s=min(timeout_s, READ_DEADLINE_S))
        except LedgerError:
            return Flushed(FlushOutcome.UNAVAILABLE)
        return Flushed(FlushOutcome.NO_CONSENT if waiting else FlushOutcome.NOTHING_WAITING)

    @property
    def problem(self) -> str | None:
        """The latest problem with the clock, the ledger or an upload, and advice for solving it.

        None if there is no problem.

        >>> telemetry.problem is None
        True
        """
        process = self._processes.current
        return self._clock.problem or process.ledger_thread.problem or process.uploader.problem

    def close(self) -> None:
        """End the background work. Waiting reports stay in the ledger for the next run.

        A request in progress gets 0.3 s to finish; other uploads are sent later. A program that
        ends without calling `close` behaves in the same way.

        >>> telemetry.close()
        >>> telemetry.record("dark_mode", True)
        <Recorded.CLOSED: 'closed'>
        """
        self._closed = True
        self._processes.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def history(self, language: str = ENGLISH) -> list[HistoryEntry]:
        """Return every report that was sent from this device, for the user to read.

        Each entry prints as a line, such as ``2026-07-01 dark_mode: true (accepted)``.

        >>> telemetry.history()
        []

        Args:
            language: a language in which the SDK or the registry has sentences.

        Raises:
            LedgerError: if the ledger cannot be read, or this object is closed.
            LanguageError: if neither the SDK nor the registry has sentences in the language.
        """
        from client_sdk.labels import Labeler  # noqa: PLC0415 takes 13 ms

        say = self._registry.sentences(language)
        nothing: tuple[list[HistoryEntry], list[bytes]] = [], []
        entries, packed = self._ask(
            lambda connection: (status.history(connection), registries.kept(connection)), empty=nothing
        )
        return Labeler(packed, self._registry).label(entries, say)

    def statement(self, language: str = ENGLISH) -> str:
        """Return a Markdown page for users: the metrics, the reasons, and what answers can reveal.

        ``hearsay-estimator plan --statement`` prints the same page, without the data folder.

        >>> telemetry.statement().splitlines()[0]
        '# What acme asks, and what it can learn'

        Args:
            language: a language in which the SDK or the registry has sentences.

        Raises:
            LanguageError: if neither the SDK nor the registry has sentences in the language.
        """
        from client_sdk.protocol.statement import FOLDER, statement  # noqa: PLC0415 takes 3 ms

        return statement(self._registry, language, FOLDER if self._path is None else str(self._path.parent))

    def budget(self) -> BudgetStatus:
        """Return the spent and remaining privacy loss, for the current window and the lifetime.

        >>> telemetry.budget().lifetime_spent
        0.0

        Raises:
            LedgerError: if the ledger cannot be read, or this object is closed.

        """
        budget = self._registry.budget
        clock_s = self._clock.instant()

        def read(connection: sqlite3.Connection) -> BudgetStatus:
            periods = Periods.at(budget, present_s(connection, clock_s))
            window_nanos = participation.window_nanos(self._registry, periods.day)
            return read_status(connection, budget, periods, window_nanos)

        periods = Periods.at(budget, clock_s)
        window_nanos = participation.window_nanos(self._registry, periods.day)
        return self._ask(read, empty=status_of((0, 0, 0), budget, periods, window_nanos))

    def dropped(self) -> dict[str, int]:
        """Return a mapping from reason to the number of answers and reports dropped for it.

        If the user has agreed, each answer passed to `record` is counted here, is in `history`, or
        still waits to be sent. The only exception is a second answer in the same window
        (``ALREADY_RECORDED``). Answers are counted by the result of the call: ``out_of_budget``,
        ``not_asked``, ``stopped``, ``expired``, ``busy`` or ``unavailable``. If a process is
        killed, its counts of the last minute are lost.

        Two counts cover only this process, because data on the device must not reveal a mistake:

        * ``unknown``: calls for metrics that the registry does not define.
        * ``invalid``: answers outside the metric's domain. A random answer was reported instead.

        Reports are dropped for these reasons:

        * ``queue_full``: too many reports or uploads waited in the ledger.
        * ``no_longer_asked``: a new registry arrived before the report was sent.
        * ``stopped``: the collector has stopped the metric for all devices.
        * ``too_late``: the report was refused temporarily until its window closed.
        * ``unanswered``: several attempts after the report's window closed got no response.
        * ``rejected``: the collector rejected the whole upload.
        * The collector's refusal codes: the collector refused the report permanently or too
          often.

        >>> telemetry.dropped()
        {}

        Raises:
            LedgerError: if the ledger cannot be read, or this object is closed.
        """
        process = self._processes.current
        lost: dict[str, int] = self._ask(process.losses.dropped, empty={})
        return dict(sorted((Counter(lost) + process.mistakes.counts).items()))

    def _ask(self, work: Callable[[sqlite3.Connection], T], empty: T, timeout_s: float = READ_DEADLINE_S) -> T:
        """Read the ledger. If there is neither a ledger nor consent, return ``empty``."""
        if not self._schedule.agreement.consent and self._path is not None and not ledger_file.exists(self._path):
            return empty
        return self._run(work, timeout_s, begin=READ)

    def _run(self, work: Callable[[sqlite3.Connection], T], timeout_s: float, **options: str) -> T:
        if self._closed:
            raise LedgerError("this Telemetry is closed; create a new one")
        return self._processes.current.ledger_thread.run(work, timeout_s, **options)
