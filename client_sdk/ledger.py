"""The budget ledger: what this device has spent, in integers of one billionth of epsilon.

Each function is one step of a transaction that the caller has begun. A charge and its report become durable together or
not at all. The key of a charge, (metric, edition, window), is also what makes it one report a metric and window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk import outbox
from client_sdk.results import BudgetStatus, Recorded
from client_sdk.spec.budget import Budget
from client_sdk.spec.epsilon import as_float
from client_sdk.spec.report import Report

if TYPE_CHECKING:
    import sqlite3


def charge(connection: sqlite3.Connection, report: Report, nanos: int, budget: Budget, budget_window: str) -> Recorded:
    """Charge a report and queue it, if its window has none yet and both ceilings allow it.

    Args:
        connection: within a write transaction.
        report: the perturbed answer.
        nanos: what it costs.
        budget: the ceilings.
        budget_window: the period of the first ceiling that holds the present instant.

    Returns:
        ``QUEUED``, ``ALREADY_RECORDED`` or ``OUT_OF_BUDGET``.

    """
    key = (report.metric, report.edition, report.window)
    if connection.execute("SELECT 1 FROM charges WHERE metric = ? AND edition = ? AND window = ?", key).fetchone():
        return Recorded.ALREADY_RECORDED
    within_window, within_life = spent_nanos(connection, budget_window)
    if within_window + nanos > budget.per_window_nanos or within_life + nanos > budget.lifetime_nanos:
        return Recorded.OUT_OF_BUDGET
    connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?)", (*key, budget_window, nanos))
    outbox.enqueue(connection, report)
    return Recorded.QUEUED


def spent_nanos(connection: sqlite3.Connection, budget_window: str) -> tuple[int, int]:
    """Return what was spent within a period, and within the life of the device."""
    total = "SELECT COALESCE(SUM(nanos), 0) FROM charges"
    within_window = connection.execute(f"{total} WHERE budget_window = ?", (budget_window,)).fetchone()[0]
    return within_window, connection.execute(total).fetchone()[0]


def status(connection: sqlite3.Connection, budget: Budget, budget_window: str) -> BudgetStatus:
    """Return what is spent and left of both ceilings."""
    return status_of(*spent_nanos(connection, budget_window), budget, budget_window)


def status_of(window_nanos: int, lifetime_nanos: int, budget: Budget, budget_window: str) -> BudgetStatus:
    """Return the status for known sums; a ceiling that was lowered below what is spent leaves 0."""
    return BudgetStatus(
        window=budget_window,
        window_spent=as_float(window_nanos),
        window_left=_float_floor(max(0, budget.per_window_nanos - window_nanos)),
        window_ceiling=_float_floor(budget.per_window_nanos),
        lifetime_spent=as_float(lifetime_nanos),
        lifetime_left=_float_floor(max(0, budget.lifetime_nanos - lifetime_nanos)),
        lifetime_ceiling=_float_floor(budget.lifetime_nanos),
    )


def _float_floor(nanos: int) -> float:
    return abs(as_float(-nanos))
