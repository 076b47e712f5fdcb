"""What an app adds up: counts, and days of use. No other answer comes here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers import counters
from client_sdk.disclosure import Disclosure
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import OutsideDomainError, UnknownMetricError
from client_sdk.protocol.metric import Metric
from client_sdk.recorder import Recorder
from client_sdk.results import Recorded

if TYPE_CHECKING:
    import sqlite3


class Counting(Disclosure):
    """The part of a `client_sdk.Telemetry` for the kinds ``count`` and ``activity``."""

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
        ``persist``. Then it stands in the ledger's file until it is reported, and several processes
        add up to one sum.

        >>> telemetry.count("taps", 3)
        <Recorded.COUNTED: 'counted'>

        Args:
            metric: the name of a metric of kind ``count``.
            by: how many to add, at least 0; the sum is capped at the metric's ``max``. What is no
                whole number is replaced by a random one, as in `record`.

        Returns:
            ``COUNTED``, or why not, within 100 ms. After ``BUSY`` it may have been counted or not.

        Raises:
            UnknownMetricError: if this is strict, and the registry defines no such metric.
            OutsideDomainError: if this is strict, and the metric is no count, or ``by`` is no whole
                number.

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

        The days stand in the ledger's file for as long as a report may count them. Calling it more
        often on a day changes nothing.

        >>> telemetry.active("days_of_use")
        <Recorded.COUNTED: 'counted'>

        Args:
            metric: the name of a metric of kind ``activity``.

        Returns:
            ``COUNTED``, or why not, within 100 ms. After ``BUSY`` it may have been counted or not.

        Raises:
            UnknownMetricError: if this is strict, and the registry defines no such metric.
            OutsideDomainError: if this is strict, and the metric is no activity.

        """
        if self._strict and (mistake := self._mistake(metric, 1, "active")):
            raise mistake
        definition = self._ready(metric, "active")
        return definition if isinstance(definition, Recorded) else self._count(definition, 1)

    def _count(self, definition: Metric, by: int) -> Recorded:
        def work(connection: sqlite3.Connection, clock_s: float, _: float) -> Recorded:
            return self._schedule.count(connection, clock_s, definition, by)

        return self._recorder.in_time(definition, work)
