"""What waits in the ledger's file: why, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from client_sdk.ledger.queue import deadline
from client_sdk.protocol.wire.report import Report, Upload
from client_sdk.results import PendingReport, Waits

if TYPE_CHECKING:
    import sqlite3


def pending(connection: sqlite3.Connection, now_s: float) -> list[PendingReport]:
    """Return every report that waits, sorted by window and metric.

    Args:
        connection: within a transaction.
        now_s: Unix seconds.

    """
    reports = [*_never_sent(connection, now_s), *_under_way(connection)]
    return sorted(reports, key=lambda report: (report.window, report.metric))


def _never_sent(connection: sqlite3.Connection, now_s: float) -> Iterator[PendingReport]:
    rows = connection.execute("SELECT metric, edition, window, symbol, release, leaves FROM queue").fetchall()
    for *parts, release_s, leaves_s in rows:
        why = Waits.FOR_ITS_WINDOW if release_s > now_s else Waits.FOR_ITS_TURN
        next_s = max(release_s, leaves_s)
        yield _entry(Report(*parts), why, next_s if next_s > now_s else None)


def _under_way(connection: sqlite3.Connection) -> Iterator[PendingReport]:
    rows = connection.execute(
        "SELECT body, due, refusals FROM uploads LEFT JOIN retries ON upload = id ORDER BY turn"
    ).fetchall()
    for body, due_s, refusals in rows:
        why = Waits.AFTER_REFUSAL if refusals else Waits.FOR_AN_ANSWER
        for report in Upload.decode(body).reports:
            yield _entry(report, why, due_s)


def _entry(report: Report, why: Waits, next_s: float | None) -> PendingReport:
    return PendingReport(
        report.metric, report.edition, report.window, report.symbol, why, next_s, float(deadline(report))
    )
