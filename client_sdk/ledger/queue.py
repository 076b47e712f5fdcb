"""The queue of reports that wait to be sent, and the outcomes of sent reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from client_sdk.protocol.window import GRACE_S, Window
from client_sdk.protocol.wire.report import Report
from client_sdk.results import ReportOutcome

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.wire.verdict import Refusal

MAX_WAITING = 1000
"""The maximum number of reports in the queue. Ten daily metrics would need a hundred days to fill
the queue, but windows close after three days. A longer queue is a sign of an error, and must not
fill the user's disk. Reports that wait for the end of their window have a separate limit of the
same size. Other reports then cannot displace the reports of metrics with ``fill_in``."""

SPREAD_S = 60.0
"""The length, in seconds, of the period in which a report is sent at a random time. The report's
arrival then does not reveal when the user did something. If a report's time is more than this
period ahead, the clock was set back, and the report is sent at once."""


REJECTED = "rejected"
QUEUE_FULL, TOO_LATE, UNANSWERED, NO_LONGER_ASKED = "queue_full", "too_late", "unanswered", "no_longer_asked"
STOPPED = "stopped"
"""Reasons for dropping a report, in addition to the codes of `Refusal`."""


class Leaving(NamedTuple):
    """The next sending time: ``in_s`` seconds from now, which is the Unix time ``leaves_s``."""

    in_s: float
    leaves_s: float


def enqueue(connection: sqlite3.Connection, report: Report, release_s: int = 0, leaves_s: float = 0.0) -> None:
    """Put a report into the queue, to be sent at the Unix time ``leaves_s``.

    A flush may send the report before ``leaves_s``, but not before the Unix time ``release_s``. If
    the queue is full, the reports whose windows close first are dropped and counted.
    """
    connection.execute(
        "INSERT INTO queue (metric, edition, window, symbol, deadline, release, leaves) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (report.metric, report.edition, report.window, report.symbol, deadline(report), release_s, leaves_s),
    )
    dropped = connection.execute(
        "DELETE FROM queue WHERE id IN (SELECT id FROM queue WHERE (release > 0) = ?"
        " ORDER BY deadline DESC, id DESC LIMIT -1 OFFSET ?)",
        (release_s > 0, MAX_WAITING),
    ).rowcount
    count_dropped(connection, QUEUE_FULL, dropped)


def due(connection: sqlite3.Connection, now_s: float, *, hurried: bool) -> list[tuple[int, Report]]:
    """Return the row ids and reports to send; if ``hurried``, ignore their random sending times."""
    return [
        (row, Report(*report))
        for row, *report in connection.execute(
            "SELECT id, metric, edition, window, symbol FROM queue WHERE release <= :now"
            " AND (:hurried OR leaves <= :now OR leaves > :now + :spread)",
            {"now": now_s, "hurried": hurried, "spread": SPREAD_S},
        )
    ]


def next_leaving(connection: sqlite3.Connection, now_s: float) -> Leaving | None:
    """Return when the next report is due; None if no report waits for its random time."""
    earliest = "SELECT MIN(leaves) FROM queue WHERE leaves > ?"
    leaves_s: float | None = connection.execute(earliest, (now_s,)).fetchone()[0]
    return None if leaves_s is None else Leaving(leaves_s - now_s, leaves_s)


def next_release_s(connection: sqlite3.Connection, now_s: float) -> list[int]:
    """Return a list with the earliest future ``release_s``, or an empty list."""
    earliest = connection.execute("SELECT MIN(release) FROM queue WHERE release > ?", (now_s,)).fetchone()[0]
    return [] if earliest is None else [int(earliest)]


def replace_symbol(connection: sqlite3.Connection, report: Report) -> bool:
    """Replace the symbol of a waiting report that was never sent; return False if none waits.

    A report that was sent keeps its symbol if it returns to the queue. Otherwise, two different
    reports of one window would be sent, although only one was charged.
    """
    changed = connection.execute(
        "UPDATE queue SET symbol = :symbol WHERE metric = :metric AND edition = :edition AND window = :window"
        " AND NOT EXISTS"
        " (SELECT 1 FROM history WHERE metric = :metric AND edition = :edition AND window = :window)",
        {"metric": report.metric, "edition": report.edition, "window": report.window, "symbol": report.symbol},
    )
    return changed.rowcount > 0


def deadline(report: Report) -> int:
    """Return the Unix time after which no collector accepts a report."""
    return Window.parse(report.window).ends_at + GRACE_S


def note_outcome(connection: sqlite3.Connection, report: Report, outcome: ReportOutcome | Refusal) -> None:
    """Store a sent report's outcome: `ReportOutcome.UNANSWERED` until a response arrives."""
    connection.execute(
        "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?)",
        (report.metric, report.edition, report.window, report.symbol, outcome.value),
    )


def count_dropped(connection: sqlite3.Connection, reason: str, reports: int) -> None:
    """Add ``reports`` to the number of reports that were dropped for ``reason``."""
    if reports:
        connection.execute(
            "INSERT INTO drops VALUES (:reason, :reports)"
            " ON CONFLICT (reason) DO UPDATE SET reports = reports + :reports",
            {"reason": reason, "reports": reports},
        )
