"""From a perturbed answer to a charged and queued report. The true value does not come here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk import ledger
from client_sdk.process import Processes
from client_sdk.results import LedgerBusyError, LedgerError, Recorded
from client_sdk.spec.metric import Metric
from client_sdk.spec.registry import Registry
from client_sdk.spec.report import Report
from client_sdk.spec.window import Window, WindowKind

if TYPE_CHECKING:
    import sqlite3

RECORD_DEADLINE_S = 0.08
"""How long `Recorder.record` waits for the disk: its host is promised 100 ms, and the rest is for a busy processor."""


class Recorder:
    """Makes reports of symbols.

    Attributes:
        clock_problem: what is wrong with the clock and what to do about it, or none.

    """

    def __init__(self, registry: Registry, processes: Processes, clock: Callable[[], float]) -> None:
        """Take the ceilings from the registry, the consent and the ledger from the processes."""
        self.clock_problem: str | None = None
        self._registry = registry
        self._processes = processes
        self._clock = clock

    def record(self, definition: Metric, symbol: int) -> Recorded:
        """Charge and queue a report of the present window; return what became of it, in time and without raising."""
        if not self._processes.consent:
            return Recorded.NO_CONSENT
        process = self._processes.current
        try:
            window, budget_window = self.windows(definition.window, self._registry.budget.window)
            if definition.has_expired(window):
                return Recorded.EXPIRED
            report = Report(definition.name, definition.edition, window.text, symbol)
            charge = partial(
                self._charge, report=report, nanos=definition.epsilon_nanos, budget_window=budget_window.text
            )
            recorded = process.keeper.run(charge, RECORD_DEADLINE_S)
        except LedgerBusyError:
            recorded = Recorded.BUSY
        except LedgerError:
            return Recorded.UNAVAILABLE
        if recorded in (Recorded.QUEUED, Recorded.BUSY):  # who was too busy to answer may have queued it all the same
            process.uploader.notify()
        return recorded

    def windows(self, *kinds: WindowKind) -> list[Window]:
        """Return the present windows.

        Raises:
            LedgerError: if the clock names an instant that no collector takes; ``clock_problem`` says the same.

        """
        try:
            instant_s = self._clock()
            windows = [Window.parse(Window.of(kind, instant_s).text) for kind in kinds]
        except Exception:  # noqa: BLE001 the clock is the host's, and may do anything
            self.clock_problem = "the device's clock names an instant that no collector takes; set it"
            raise LedgerError(self.clock_problem) from None
        self.clock_problem = None
        return windows

    def _charge(self, connection: sqlite3.Connection, report: Report, nanos: int, budget_window: str) -> Recorded:
        """Charge and queue, in the keeper's thread; jobs that waited while the user opted out are not done."""
        if not self._processes.consent:
            return Recorded.NO_CONSENT
        return ledger.charge(connection, report, nanos, self._registry.budget, budget_window)
