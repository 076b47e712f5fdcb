"""The methods of `Telemetry` for counts, days of use, and answers from functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers import counters
from client_sdk.disclosure import Disclosure
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import OutsideDomainError, UnknownMetricError
from client_sdk.protocol.metric import Metric
from client_sdk.recorder import Recorder
from client_sdk.results import Recorded
from client_sdk.sending.timing import Departure

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.answers.provider import Provider


class Gathering(Disclosure):
    """The methods of `client_sdk.Telemetry` for counts, days of use, and answers from functions."""

    _coins: Coins
    _recorder: Recorder
    _strict: bool

    if TYPE_CHECKING:

        def _named(self, metric: object, call: str) -> Metric | UnknownMetricError | OutsideDomainError: ...

        def _ready(self, metric: object, call: str) -> Metric | Recorded: ...

        def _mistake(
            self, metric: object, answer: object, call: str
        ) -> UnknownMetricError | OutsideDomainError | None: ...

    def count(self, metric: str, by: int = 1) -> Recorded:
        """Add to the current window's count. The sum is reported after the window has ended.

        The count is kept in memory and lost when the process ends. If the registry sets ``persist``
        for the metric, the ledger's file stores the count until the report is made, and all
        processes add to the same count.

        >>> telemetry.count("taps", 3)
        <Recorded.COUNTED: 'counted'>

        Args:
            metric: the name of a metric of kind ``count``.
            by: the number to add, at least 0. The sum is capped at the metric's ``max``. A random
                number replaces a value that is not a whole number, as a random answer replaces an
                invalid answer passed to `record`.

        Returns:
            ``COUNTED``, or the reason why nothing was counted. The method returns within 100 ms.
            After ``BUSY``, the number may or may not have been added.

        Raises:
            UnknownMetricError: if ``strict`` is true, and the registry defines no such metric.
            OutsideDomainError: if ``strict`` is true, and the metric is not a count, or ``by``
                is not a whole number.
        """
        if self._strict and (mistake := self._mistake(metric, by, "count")):
            del by
            raise mistake
        definition = self._ready(metric, "count")
        if isinstance(definition, Recorded):
            return definition
        added = self._processes.current.mistakes.valid(
            definition, partial(counters.addend, definition, by), partial(counters.draw_addend, definition, self._coins)
        )
        del by
        return self._count(definition, added)

    def active(self, metric: str) -> Recorded:
        """Store today (UTC) as a day of use. The number of days is reported after the window ends.

        Each day of use is stored in the ledger's file until no future report can include it.
        Further calls on the same day change nothing.

        >>> telemetry.active("days_of_use")
        <Recorded.COUNTED: 'counted'>

        Args:
            metric: the name of a metric of kind ``activity``.

        Returns:
            ``COUNTED``, or the reason why the day was not stored. The method returns within 100 ms.
            After ``BUSY``, the day may or may not have been stored.

        Raises:
            UnknownMetricError: if ``strict`` is true, and the registry defines no such metric.
            OutsideDomainError: if ``strict`` is true, and the metric is not an activity.

        """
        if self._strict and (mistake := self._mistake(metric, 1, "active")):
            raise mistake
        definition = self._ready(metric, "active")
        return definition if isinstance(definition, Recorded) else self._count(definition, 1)

    def _count(self, definition: Metric, by: int) -> Recorded:
        def work(connection: sqlite3.Connection, clock_s: float, _: float) -> Recorded:
            return self._schedule.count(connection, clock_s, definition, by)

        return self._recorder.in_time(definition, work)

    def provide(self, metric: str, function: Callable[[], object]) -> None:
        """Call a function to get the answer to a metric, once in each window that needs an answer.

        Only the calendar decides when the function is called: immediately if the current window has
        no report yet, and within six hours after a later window begins. If the app runs in several
        processes, only one process calls its function. The function runs in a separate thread. The
        function's return value is handled like an answer passed to `record`. If the metric has
        ``fill_in``, the report is sent after the window's end. Otherwise, it is sent 7 to 60
        seconds after the SDK has called the function; even `flush` does not send it earlier.

        The report is sent at the same instant whatever the function does. The function fails if it
        returns None, raises an exception, or takes more than 5 s. The SDK then reports "no answer"
        if the metric has ``fill_in``, and otherwise a random answer. Only the type of an exception
        is logged. If the user has not agreed, or after `forget` or `close`, no function is called
        and nothing is recorded.

        >>> telemetry.provide("dark_mode", lambda: True)

        Args:
            metric: the metric's name.
            function: returns the true answer. A later call for the same metric replaces the
                function.

        Returns:
            None, as soon as the function has returned or no call is due. The wait is at most 100
            ms, or a second if the disk is slow.

        Raises:
            UnknownMetricError: if ``strict`` is true, and the registry defines no such metric.
        """
        if self._strict and not isinstance(mistake := self._named(metric, "record"), Metric):
            raise mistake
        if self._closed or self._processes.is_finished:
            return
        definition = self._named(metric, "record")
        if isinstance(definition, Metric):
            self._provider().provide(definition, function)
        else:
            self._processes.current.mistakes.unknown(definition)

    def _provider(self) -> Provider:
        from client_sdk.answers.provider import Provider  # noqa: PLC0415 takes 5 ms, and most apps do not need it

        process = self._processes.current
        if process.provider is None:
            uploader = process.uploader

            def leave(in_s: float, clock_s: float) -> None:
                uploader.notify(Departure(time.monotonic() + in_s, clock_s + in_s))

            process.provider = Provider(
                process.ledger_thread,
                self._schedule,
                mistakes=process.mistakes,
                clock=self._clock,
                coins=self._coins,
                leave=leave,
            )
        return process.provider
