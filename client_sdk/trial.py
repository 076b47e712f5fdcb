"""Runs a trial of an app, and reports on standard error how each answer is handled.

Trials are for developers. Only a trial shows true answers; no other part of the SDK does. A trial
prints true answers on standard error only, never through ``logging``, which may write to a file or
to another machine.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from client_sdk import show
from client_sdk.consenting import Consenting
from client_sdk.gathering import Gathering
from client_sdk.host.files import app_folder
from client_sdk.labels import Labeler
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import FOLDER, Registry, in_trial, registry_of
from client_sdk.protocol.sentences import ENGLISH
from client_sdk.protocol.wire.base_url import is_base_url, is_on_this_machine
from client_sdk.protocol.wire.verdict import Refusal
from client_sdk.results import Flushed, FlushOutcome, HistoryEntry, LedgerError, PendingReport, Recorded, ReportOutcome

VARIABLE: Final = "HEARSAY_TRIAL"
"""If this environment variable is 1, the collector may be on another machine."""

ANSWER_S: Final = 5.0
"""How long, in seconds, `Trial.record` and `Trial.flush` wait for the collector's response."""

START_S = 10.0
"""How long, in seconds, a device tries to reach a collector that may still be starting."""

AGAIN_S: Final = 0.2

_CONSENT_HINTS: Final = {
    Recorded.NO_CONSENT: ": the user has not agreed to this question; to try it anyway, pass consent=True",
    Recorded.SUPPRESSED: ": consent.current(…).rule says why; to try it anyway, pass consent=True",
}

_UNKNOWN: Final = tuple(
    refusal.sentence for refusal in (Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION, Refusal.FORMER_EDITION)
)
_SERVE: Final = "start `hearsay-collector serve --trial` with this registry"

_NOTHING: Final = object()
"""A value outside the domain of every metric."""


class Trial(Gathering, Consenting):
    """The methods of `client_sdk.Telemetry` that work differently in a trial.

    The methods send reports immediately, and print each step.

    In the method resolution order, this class comes before `Telemetry`, and calls the methods of
    `Telemetry`. The ledger is in a separate folder, and only the trial's collector counts the
    reports.
    """

    _gave_up = False
    """Whether a device of this process has waited, without success, for a collector to start."""

    def __init__(
        self,
        registry: Registry | str | Path,
        *,
        collector: str,
        data_dir: str | Path | None,
        **options: Any,  # noqa: ANN401 Telemetry's
    ) -> None:
        """Start like a `Telemetry`, but with the trial's registry and folder.

        Raises:
            ValueError: if the collector is on another machine, and HEARSAY_TRIAL is not 1; or for
                the reasons that `Telemetry` lists.
            TypeError: if ``trial`` is not a bool, or for the reasons that `Telemetry` lists.
            RegistryError: for the reasons that `Telemetry` lists.

        """
        if options["trial"] is not True:
            raise TypeError("trial must be True or False")
        is_allowed = os.environ.get(VARIABLE) == "1" or not is_base_url(collector) or is_on_this_machine(collector)
        if not is_allowed:  # a collector that is not a URL is refused later
            raise ValueError(
                "trial=True needs a collector on this machine, such as http://127.0.0.1:8080, because users must not "
                f"run trials: remove trial=True, or set the environment variable {VARIABLE} to 1"
            )
        registry = registry_of(registry)
        folder = app_folder(data_dir)
        self._folder = None if folder is None else folder / FOLDER
        self._told: dict[object, str | None] = {}
        self._patient_until_s = time.monotonic() + (0.0 if Trial._gave_up else START_S)
        super().__init__(in_trial(registry), collector=collector, data_dir=self._folder, **options)  # type: ignore[call-arg] # Telemetry's
        self._ordinary = registry
        for sentence in registry.objections(datetime.now(UTC).date()):
            _say(sentence)
        with contextlib.suppress(LedgerError):  # the reports of an earlier run need not be printed
            self._told |= {entry[:3]: entry.outcome for entry in self.history()}

    def statement(self, language: str = ENGLISH) -> str:
        """Return the app's statement, which lists the app's own ceilings, not the trial's."""
        from client_sdk.protocol.statement import statement  # noqa: PLC0415 takes 3 ms

        return statement(self._ordinary, language)

    def record(self, metric: str, value: object) -> Recorded:
        """Record as `Telemetry.record` does, wait for the collector, and print each step."""
        mistake = self._mistake(metric, value, "record")
        recorded: Recorded = super().record(metric, value)  # type: ignore[misc] # Telemetry's
        if mistake is not None:
            _say(f"{metric}: {mistake}")
        # an answer that waits in memory must reach the ledger before the ledger is read here
        entry = self._latest(metric) if recorded in (Recorded.QUEUED, Recorded.WAITING) else None
        if entry is None:
            _say(f"{metric}: {recorded}{self._hint(recorded)}")
            if recorded is Recorded.ALREADY_RECORDED:  # perhaps recorded while no collector was running
                self.flush(ANSWER_S)
            return recorded
        epsilon = as_float(self._registry.metric(metric).epsilon_nanos)
        shown = _shown(value) if mistake is None else "a random answer instead"
        _say(f"{metric}: {shown} → {entry.label} (randomized at epsilon {epsilon:.3g})")
        _say(f"{metric}: charged epsilon {epsilon:.3g}, queued for {entry.window}")
        self.flush(ANSWER_S)
        return recorded

    def count(self, metric: str, by: int = 1) -> Recorded:
        """Report the number immediately, without waiting for the window's end."""
        return self._reported(metric, by, "count") or super().count(metric, by)

    def active(self, metric: str) -> Recorded:
        """Report one day of use immediately, without waiting for the window's end."""
        return self._reported(metric, 1, "active") or super().active(metric)

    def provide(self, metric: str, function: Callable[[], object]) -> None:
        """Call the function immediately, in this thread, and record its return value."""
        ready = self._ready(metric, "record")
        if not isinstance(ready, Metric):
            _say(f"{metric}: {ready}{self._hint(ready)}")
            return
        try:
            answer = function()
        except Exception as error:  # noqa: BLE001 a developer's function may raise any error
            _say(f"{metric}: the function raised {type(error).__name__}")
            answer = _NOTHING
        self.record(metric, answer)

    def flush(self, timeout_s: float = ANSWER_S) -> Flushed:
        """Flush as `Telemetry.flush` does, and print the outcome of each report."""
        while True:
            flushed = super().flush(timeout_s)
            self._tell()
            if flushed.outcome is not FlushOutcome.OFFLINE:
                return flushed
            if time.monotonic() >= self._patient_until_s:
                Trial._gave_up = True
                return flushed
            time.sleep(AGAIN_S)

    @property
    def problem(self) -> str | None:
        """The latest problem, as in `Telemetry.problem`, but with advice for a trial."""
        problem = super().problem
        is_unknown = problem is not None and problem.endswith(_UNKNOWN)
        return "the collector does not count this trial: " + _SERVE if is_unknown else problem

    def _tell(self) -> None:
        with contextlib.suppress(LedgerError):
            for entry in self.history():
                if self._is_new(entry[:3], entry.outcome):
                    _say(f"{entry.metric}: {self._fate(entry)}")
        if self._is_new("problem", self.problem) and self.problem:
            _say(self.problem)

    def _reported(self, metric: str, by: int, call: str) -> Recorded | None:
        """Record a number as an answer and return the outcome; None if it cannot be recorded."""
        return self.record(metric, by) if isinstance(self._ready(metric, call), Metric) else None

    def _latest(self, metric: str) -> HistoryEntry | PendingReport | None:
        """Return the latest report on a metric's current editions; None if there is none."""
        with contextlib.suppress(LedgerError):
            nothing: list[PendingReport] = []
            now_s = self._clock.instant_or_zero()
            waiting = self._ask(lambda connection: show.pending(connection, now_s), empty=nothing)
            labels = Labeler((), self._registry)
            entries: list[HistoryEntry | PendingReport] = [
                *self.history(),
                *labels.label(waiting, self._registry.sentences(ENGLISH)),
            ]
            editions = self._registry.metric(metric).editions
            own = (entry for entry in entries if entry.metric == metric and entry.edition in editions)
            return max(own, key=lambda entry: entry.window, default=None)
        return None

    def _is_new(self, about: object, news: str | None) -> bool:
        """Whether ``news`` differs from the previous message about the same subject.

        The method then remembers ``news`` for the next comparison.
        """
        before, self._told[about] = self._told.get(about), news
        return before != news

    def _fate(self, entry: HistoryEntry) -> str:
        if entry.outcome == ReportOutcome.UNANSWERED:
            return f"not acknowledged yet for {entry.window}"
        words = self._registry.sentences(ENGLISH).code("outcome", entry.outcome)
        return f"sent for {entry.window}; the collector's answer: {words}"

    def _hint(self, recorded: Recorded) -> str:
        if recorded is Recorded.ALREADY_RECORDED:
            if self._folder is None:
                return ": one report per window; to start over, create another Telemetry"
            return f": one report per window; to start over, stop this program, delete {self._folder}, and restart"
        if recorded is Recorded.UNAVAILABLE:
            again = "" if self._folder is None else f"; to start over, stop this program and delete {self._folder}"
            return f": {self.problem}{again}"
        return _CONSENT_HINTS.get(recorded, "")


def _shown(value: object) -> str:
    try:
        return " ".join((str(value).lower() if isinstance(value, bool) else str(value)).split())
    except Exception:  # noqa: BLE001 a number with too many digits, or an error of the app's own type
        return "an answer"


def _say(line: str) -> None:
    with contextlib.suppress(Exception):  # there may be no standard error
        sys.stderr.write(f"hearsay trial: {line}\n")
        sys.stderr.flush()
