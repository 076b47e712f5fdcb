"""What became of reports: those that have left the device, and how many were dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.protocol.wire.report import Report
from client_sdk.results import ReportOutcome

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.wire.verdict import Refusal

REJECTED = "rejected"
QUEUE_FULL, TOO_LATE, UNANSWERED, NO_LONGER_ASKED = "queue_full", "too_late", "unanswered", "no_longer_asked"
STOPPED = "stopped"
"""Reasons for dropping a report, beside the codes of refusals."""


def note(connection: sqlite3.Connection, report: Report, outcome: ReportOutcome | Refusal) -> None:
    """Note what became of a report that has left the device, or that it has left."""
    connection.execute(
        "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?)",
        (report.metric, report.edition, report.window, report.symbol, outcome.value),
    )


def count_dropped(connection: sqlite3.Connection, reason: str, reports: int) -> None:
    """Count reports that were dropped for a reason."""
    if reports:
        connection.execute(
            "INSERT INTO drops VALUES (:reason, :reports)"
            " ON CONFLICT (reason) DO UPDATE SET reports = reports + :reports",
            {"reason": reason, "reports": reports},
        )
