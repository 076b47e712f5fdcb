"""Tells the app when the device has spent a fraction, such as half, of its lifetime budget."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from client_sdk.answers import participation
from client_sdk.host import forks
from client_sdk.ledger import charges
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.status import read_status
from client_sdk.ledger.thread import READ, LedgerThread
from client_sdk.protocol.registry.registry import Registry
from client_sdk.results import BudgetStatus, LedgerError, OnBudget, warn

if TYPE_CHECKING:
    import sqlite3

LOOK_DEADLINE_S = 5.0
"""How long, in seconds, a check of the budget waits for the ledger before the check is skipped."""


def _fractions(warn_at: Sequence[float]) -> list[float]:
    try:
        fractions = sorted({float(fraction) for fraction in warn_at})
    except (TypeError, ValueError):
        raise TypeError("warn_at must contain numbers, such as (0.8, 0.95)") from None
    if not all(0 < fraction <= 1 for fraction in fractions):
        raise ValueError("warn_at must contain fractions of the lifetime budget, above 0 and at most 1")
    return fractions


class BudgetWatch:
    """Calls the app's callback when the spent budget reaches a fraction that the app has chosen.

    Each process calls the callback once per fraction.
    """

    def __init__(self, registry: Registry, on_budget: OnBudget, warn_at: Sequence[float]) -> None:
        """Store the arguments.

        ``warn_at`` contains the fractions of the lifetime budget at which ``on_budget`` is called.

        Raises:
            TypeError: if a fraction is not a number.
            ValueError: if a fraction is not above 0, or is above 1.
        """
        self._budget = registry.budget
        self._registry = registry
        self._on_budget = on_budget
        self._warn_at = _fractions(warn_at)
        self._announced: set[tuple[tuple[int, int], float]] = set()

    def look(self, ledger_thread: LedgerThread) -> None:
        """Call the app's callback for each fraction that was reached since the last check."""
        try:
            spent_nanos, status = ledger_thread.run(self._read, LOOK_DEADLINE_S, begin=READ)
        except LedgerError:
            return
        for fraction in self._warn_at:
            key = (forks.this_process(), fraction)
            # Compare with the fraction's decimal digits, because the float 0.8 is slightly above
            # 8/10.
            if key not in self._announced and spent_nanos >= Fraction(repr(fraction)) * self._budget.lifetime_nanos:
                self._announced.add(key)
                self._call_back(fraction, status)

    def _call_back(self, fraction: float, status: BudgetStatus) -> None:
        try:
            self._on_budget(fraction, status)
        except Exception as error:  # noqa: BLE001 the app's callback may raise anything, and must not stop uploads
            warn("on_budget failed: %s", type(error).__name__)

    def _read(self, connection: sqlite3.Connection) -> tuple[int, BudgetStatus]:
        periods = Periods.at(self._budget, charges.latest_s(connection))
        window_nanos = participation.window_nanos(self._registry, periods.day)
        status = read_status(connection, self._budget, periods, window_nanos)
        return charges.lifetime_nanos(connection), status
