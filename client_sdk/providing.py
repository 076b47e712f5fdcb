"""What an app lets the SDK ask for: a function for the state that a question is about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from client_sdk.counting import Counting
from client_sdk.protocol.metric import Metric
from client_sdk.sending.timing import Departure

if TYPE_CHECKING:
    from client_sdk.answers.provider import Provider


class Providing(Counting):
    """The part of a `client_sdk.Telemetry` for questions about a state."""

    def provide(self, metric: str, function: Callable[[], object]) -> None:
        """Call a function for the answer to a question, once in each window in which it is due.

        The calendar fixes when: at once if the window lacks its report, and within six hours after
        a later window has begun. Of several processes one calls. The function runs in a thread of
        its own. What it returns is recorded as by `record`, and its report leaves within a minute;
        a `flush` sends none in the first seven seconds.

        A report leaves at the same instant whatever the function does. If it returns None, raises,
        or takes more than 5 s, the report is that of no answer if the question has ``fill_in``;
        otherwise that of a random answer, as of an invalid one. The log names the type of what was
        raised, and nothing else of it. The function is not called, and what it returns is not used,
        without consent, after `forget` and after `close`.

        >>> telemetry.provide("dark_mode", lambda: True)

        Args:
            metric: the metric's name.
            function: returns the true answer. Another one for the same metric replaces it.

        Returns:
            When the function has returned, or is not due; within 100 ms, and if the disk is slow,
            within a second.

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
        """Return what calls functions in this process."""
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
