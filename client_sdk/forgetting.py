"""Opting out: what is wiped from a ledger's file, and what is kept so that opting in again renews no budget.

What was spent is kept; when it was spent, and for which question, only where the present windows need it. Of windows
that were over when the ledger last saw the time nothing can be recorded any more: their charges become sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk import ledger
from client_sdk.spec.errors import WindowError
from client_sdk.spec.window import Window

if TYPE_CHECKING:
    import sqlite3

OVER = ""
"""Stands for a period that is over, and for the question where a sum of several is kept."""


def wipe(connection: sqlite3.Connection) -> None:
    """Delete everything but what was spent and the present windows' charges; none of them holds an answer."""
    for table in ("queue", "uploads", "retries", "history", "drops", "permanents", "counts"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 the names are those above
    connection.execute("UPDATE charges SET reported = 1")  # no slot is filled in for who has opted out
    connection.execute("UPDATE device SET secret = NULL")
    _add_up(connection, ledger.latest_s(connection))


def _add_up(connection: sqlite3.Connection, now_s: int) -> None:
    """Replace the charges of windows that are over by one sum for each pair of periods that may still go on.

    Reserves of permanent answers go with them: they were for the secret that is wiped.
    """
    charges = connection.execute("SELECT * FROM charges").fetchall()
    connection.execute("DELETE FROM charges")
    for metric, edition, window, *periods, nanos, attos, reported in charges:
        budget_window, month = (period if _goes_on(period, now_s) else OVER for period in periods)
        key = (metric, edition, window)
        if not _goes_on(window, now_s):
            key = (OVER, OVER, f"sum {budget_window} {month}")
        connection.execute(
            "INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (metric, edition, window)"
            " DO UPDATE SET nanos = nanos + excluded.nanos, attos = attos + excluded.attos",
            (*key, budget_window, month, nanos, attos, reported),
        )
    for (window,) in connection.execute("SELECT window FROM slots").fetchall():
        if not _goes_on(window, now_s):
            connection.execute("DELETE FROM slots WHERE window = ?", (window,))


def _goes_on(period: str, now_s: int) -> bool:
    """Whether a text names a period that is not over; that of a reserve or of an earlier sum names none."""
    try:
        return Window.parse(period).ends_at > now_s
    except WindowError:
        return False
