"""What a ledger holds, for people who look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.results import HistoryEntry, LatestProblem, outcome_named

if TYPE_CHECKING:
    import sqlite3


def history(connection: sqlite3.Connection) -> list[HistoryEntry]:
    """Return every report that has left the device, sorted by window and metric."""
    rows = connection.execute("SELECT metric, edition, window, symbol, outcome FROM history ORDER BY window, metric")
    return [
        HistoryEntry(metric, edition, window, symbol, outcome_named(outcome))
        for metric, edition, window, symbol, outcome in rows
    ]


def dropped(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of dropped reports by reason."""
    return dict(connection.execute("SELECT reason, reports FROM drops ORDER BY reason").fetchall())


def waiting(connection: sqlite3.Connection) -> int:
    """Return the number of reports and uploads that have not been settled."""
    query = "SELECT (SELECT COUNT(*) FROM queue) + (SELECT COUNT(*) FROM uploads)"
    return int(connection.execute(query).fetchone()[0])


def latest_problem(connection: sqlite3.Connection) -> LatestProblem | None:
    """Return the latest problem; None if there is none."""
    row = connection.execute("SELECT sentence, at_s FROM problems ORDER BY at_s DESC").fetchone()
    return None if row is None else LatestProblem(*row)
