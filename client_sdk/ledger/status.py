"""Shows the app and its users what a ledger contains, and how much of the budget is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.host import forks
from client_sdk.ledger.charges import Periods, latest_s, spent_nanos
from client_sdk.protocol.budget import Budget
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from client_sdk.protocol.window_steps import later
from client_sdk.results import BudgetStatus, HistoryEntry, LatestProblem, ReportOutcome

if TYPE_CHECKING:
    import sqlite3


def present_s(connection: sqlite3.Connection, clock_s: float) -> float:
    """Return the ledger's time in Unix seconds, without storing it or checking the clock."""
    return max(clock_s, float(latest_s(connection)))


def read_status(connection: sqlite3.Connection, budget: Budget, periods: Periods, window_nanos: int) -> BudgetStatus:
    """Return the spent amount and the remaining amount under each ceiling."""
    return status_of(spent_nanos(connection, periods), budget, periods, window_nanos)


def status_of(spent: tuple[int, int, int], budget: Budget, periods: Periods, window_nanos: int) -> BudgetStatus:
    """Return the budget's status for spent amounts. A negative remainder counts as 0."""
    in_window, in_month, in_life = spent
    month_ceiling = budget.per_month_nanos
    left = max(0, budget.lifetime_nanos - in_life)
    windows_left = left // window_nanos if window_nanos else None
    return BudgetStatus(
        window=periods.budget_window.text,
        window_spent=as_float(in_window),
        window_left=_float_floor(max(0, budget.per_window_nanos - in_window)),
        window_ceiling=_float_floor(budget.per_window_nanos),
        lifetime_spent=as_float(in_life),
        lifetime_left=_float_floor(left),
        lifetime_ceiling=_float_floor(budget.lifetime_nanos),
        month=periods.month.text,
        month_spent=as_float(in_month),
        month_ceiling=None if month_ceiling is None else _float_floor(month_ceiling),
        windows_left=windows_left,
        ends=None if windows_left is None else _ends(periods.budget_window, windows_left + (in_window > 0)),
    )


def _ends(budget_window: Window, windows: int) -> str | None:
    try:
        return later(budget_window, windows).text
    except WindowError:
        return None


def _float_floor(nanos: int) -> float:
    return abs(as_float(-nanos))


def history(connection: sqlite3.Connection) -> list[HistoryEntry]:
    """Return every report that was sent, sorted by window and metric."""
    with forks.importing():
        from client_sdk.protocol.wire.verdict import Refusal  # noqa: PLC0415 2 ms, and most programs show no history
    outcomes: dict[str, str] = {outcome.value: outcome for outcome in (*ReportOutcome, *Refusal)}
    rows = connection.execute("SELECT metric, edition, window, symbol, outcome FROM history ORDER BY window, metric")
    return [
        HistoryEntry(metric, edition, window, symbol, outcomes.get(outcome, outcome))
        for metric, edition, window, symbol, outcome in rows
    ]


def dropped(connection: sqlite3.Connection) -> dict[str, int]:
    """Return a mapping from each reason to the number of reports that were dropped for it."""
    return dict(connection.execute("SELECT reason, reports FROM drops ORDER BY reason").fetchall())


def waiting(connection: sqlite3.Connection) -> int:
    """Return the number of reports in the queue plus the number of unsettled uploads."""
    query = "SELECT (SELECT COUNT(*) FROM queue) + (SELECT COUNT(*) FROM uploads)"
    return int(connection.execute(query).fetchone()[0])


def latest_problem(connection: sqlite3.Connection) -> LatestProblem | None:
    """Return the latest problem; None if no problem is stored."""
    row = connection.execute("SELECT sentence, at_s FROM problems ORDER BY at_s DESC").fetchone()
    return None if row is None else LatestProblem(*row)
