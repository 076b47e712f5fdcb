"""Counts, days of use and states: answers that the SDK adds up or asks the app for.

No other answer passes through here.
"""

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
    """The part of a `client_sdk.Telemetry` for answers that build up over time, or on demand."""

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
        """Add to the count of this window; when it has ended, the sum is reported as by `record`.

        The count lives in memory and is lost with the process, unless the registry says
        ``persist``. Then it is stored in the ledger's file until it is reported, and several
        processes add up to one sum.

        >>> telemetry.count("taps", 3)
        <Recorded.COUNTED: 'counted'>

        Args:
            metric: the name of a metric of kind ``count``.
            by: how many to add, at least 0; the sum is capped at the metric's ``max``. A value that
                is not a whole number is replaced by a random one, as in `record`.

        Returns:
            ``COUNTED``, or why not, within 100 ms. After ``BUSY`` the outcome is unknown.

        Raises:
            UnknownMetricError: if this is strict, and the registry defines no such metric.
            OutsideDomainError: if this is strict, and the metric is not a count, or ``by`` is not a
                whole number.

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
        """Remember today (UTC) as a day of use; the number of days is reported after the window.

        The days are stored in the ledger's file for as long as a report may count them. Further
        calls on the same day change nothing.

        >>> telemetry.active("days_of_use")
        <Recorded.COUNTED: 'counted'>

        Args:
            metric: the name of a metric of kind ``activity``.

        Returns:
            ``COUNTED``, or why not, within 100 ms. After ``BUSY`` the outcome is unknown.

        Raises:
            UnknownMetricError: if this is strict, and the registry defines no such metric.
            OutsideDomainError: if this is strict, and the metric is not an activity.

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
        """Call a function for the answer to a question, once in each window in which it is due.

        The calendar fixes when: at once if the window lacks its report, and within six hours after
        a later window has begun. If there are several processes, one of them calls. The function
        runs in a separate thread. Its return value is recorded as by `record`, and its report
        leaves within a minute; a `flush` does not send it in the first seven seconds.

        A report leaves at the same instant whatever the function does. If it returns None, raises,
        or takes more than 5 s, the SDK reports no answer if the question has ``fill_in``, and
        otherwise a random answer, as for an invalid one. The log names the type of the exception
        and nothing else about it. Without consent, after `forget` and after `close`, the function
        is not called and its return value is not used.

        >>> telemetry.provide("dark_mode", lambda: True)

        Args:
            metric: the metric's name.
            function: returns the true answer. Another one for the same metric replaces it.

        Returns:
            When the function has returned, or if it is not due; within 100 ms, or if the disk is
            slow, within a second.

        Raises:
            UnknownMetricError: if this is strict, and the registry defines no such metric.

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
        """Return the object that calls functions in this process."""
        from client_sdk.answers.provider import Provider  # noqa: PLC0415 5 ms, and most apps do without

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
