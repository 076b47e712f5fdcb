"""The latest problem, for people who look at the ledger after the process that met it has ended.

Each function is one step of a transaction that the caller has begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.results import LatestProblem

if TYPE_CHECKING:
    import sqlite3

CLOCK, UPLOAD = "clock", "upload"
"""What has a problem: the device's clock, or the latest upload."""


def note_problem(connection: sqlite3.Connection, about: str, sentence: str | None) -> None:
    """Note a problem, met when the ledger last saw the time; None if it is over.

    After opting out, when there is no secret, nothing is noted any more.
    """
    connection.execute("DELETE FROM problems WHERE about = ?", (about,))
    if sentence is not None:
        connection.execute(
            "INSERT INTO problems SELECT ?, ?, latest_s FROM device WHERE secret IS NOT NULL", (about, sentence)
        )


def latest_problem(connection: sqlite3.Connection) -> LatestProblem | None:
    """Return the latest problem; None if there is none."""
    row = connection.execute("SELECT sentence, at_s FROM problems ORDER BY at_s DESC").fetchone()
    return None if row is None else LatestProblem(*row)
