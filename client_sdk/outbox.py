"""What waits to leave the device, what has left it, and what was dropped, in the ledger's file.

Each function is one step of a transaction that the caller has begun. A report waits in the queue; it is put into an
upload, whose body is stored before it is first sent, so that every attempt sends the same bytes with the same id; the
upload is forgotten once it is settled. Settling twice (two processes may send one upload) changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from client_sdk.results import HistoryEntry
from client_sdk.spec.report import MAX_REPORTS, Report, Upload, Verdict
from client_sdk.spec.window import GRACE_S, Window

if TYPE_CHECKING:
    import sqlite3

MAX_WAITING = 1000
"""Reports in the queue: ten daily metrics fill it in a hundred days, and after three days offline their windows are
closed anyway. Above it something is wrong, and the host's disk must not pay for it."""

SENT, ACCEPTED, REJECTED = "sent", "accepted", "rejected"
QUEUE_FULL, TOO_LATE, UNANSWERED = "queue_full", "too_late", "unanswered"
"""Reasons to drop a report, beside ``rejected`` and the codes of final refusals."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """An upload that is due.

    Attributes:
        id: its random id.
        body: the bytes to send, the same in every attempt.
        reports: how many reports are in it.

    """

    id: str
    body: bytes
    reports: int


def enqueue(connection: sqlite3.Connection, report: Report) -> None:
    """Put a report into the queue; above its bound, those whose windows close first are dropped and counted."""
    connection.execute(
        "INSERT INTO queue (metric, edition, window, symbol, deadline) VALUES (?, ?, ?, ?, ?)",
        (report.metric, report.edition, report.window, report.symbol, Window.parse(report.window).ends_at + GRACE_S),
    )
    dropped = connection.execute(
        "DELETE FROM queue WHERE id IN (SELECT id FROM queue ORDER BY deadline DESC, id DESC LIMIT -1 OFFSET ?)",
        (MAX_WAITING,),
    ).rowcount
    _count(connection, QUEUE_FULL, dropped)


def next_parcel(connection: sqlite3.Connection, now_s: float) -> Parcel | None:
    """Return the upload to send next, made of waiting reports if none is under way; none if nothing waits.

    The reports are chosen and ordered at random, so that their order tells nothing.
    """
    _drop_late(connection, now_s)
    row = connection.execute("SELECT id, body FROM uploads LIMIT 1").fetchone()
    if row:
        return Parcel(row[0], row[1], len(Upload.decode(row[1]).reports))
    waiting = connection.execute("SELECT id, deadline, metric, edition, window, symbol FROM queue").fetchall()
    if not waiting:
        return None
    return _pack(connection, waiting)


def settle(connection: sqlite3.Connection, upload_id: str, verdict: Verdict) -> bool:
    """Take note of the collector's verdict; reports that it may accept later go back into the queue, unchanged.

    Returns:
        Whether reports went back.

    """
    refused = dict(verdict.refused)
    retried = False
    for index, report in enumerate(_take(connection, upload_id)):
        refusal = refused.get(index)
        _note(connection, report, refusal.value if refusal else ACCEPTED)
        if refusal is None:
            continue
        if refusal.retryable:
            enqueue(connection, report)
            retried = True
        else:
            _count(connection, refusal.value, 1)
    return retried


def reject(connection: sqlite3.Connection, upload_id: str) -> None:
    """Drop an upload that the collector will never take."""
    for report in _take(connection, upload_id):
        _note(connection, report, REJECTED)
        _count(connection, REJECTED, 1)


def waiting(connection: sqlite3.Connection) -> int:
    """Return how many reports and uploads have not been settled."""
    query = "SELECT (SELECT COUNT(*) FROM queue) + (SELECT COUNT(*) FROM uploads)"
    return int(connection.execute(query).fetchone()[0])


def history(connection: sqlite3.Connection) -> list[HistoryEntry]:
    """Return every report that has left the device, by window and metric."""
    rows = connection.execute("SELECT metric, edition, window, symbol, outcome FROM history ORDER BY window, metric")
    return [HistoryEntry(*row) for row in rows]


def dropped(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many reports were dropped, by reason."""
    return dict(connection.execute("SELECT reason, reports FROM drops ORDER BY reason").fetchall())


def wipe(connection: sqlite3.Connection) -> None:
    """Delete everything but the charges: they hold no answer, and opting in again must not renew the budget."""
    for table in ("queue", "uploads", "history", "drops"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 the names are the four above
    connection.execute("UPDATE device SET secret = NULL")


def _pack(connection: sqlite3.Connection, waiting: list[tuple[int, int, str, str, str, int]]) -> Parcel:
    import secrets  # noqa: PLC0415 importing the SDK must stay quick

    secrets.SystemRandom().shuffle(waiting)
    chosen = waiting[:MAX_REPORTS]
    upload = Upload(secrets.token_hex(16), tuple(Report(*row[2:]) for row in chosen))
    body = upload.encode()
    latest = max(deadline for _, deadline, *_ in chosen)
    connection.execute("INSERT INTO uploads VALUES (?, ?, ?)", (upload.id, body, latest))
    connection.executemany("DELETE FROM queue WHERE id = ?", [row[:1] for row in chosen])
    for report in upload.reports:
        _note(connection, report, SENT)
    return Parcel(upload.id, body, len(chosen))


def _take(connection: sqlite3.Connection, upload_id: str) -> tuple[Report, ...]:
    """Remove an upload and return its reports; none if somebody else has settled it."""
    row = connection.execute("SELECT body FROM uploads WHERE id = ?", (upload_id,)).fetchone()
    if row is None:
        return ()
    connection.execute("DELETE FROM uploads WHERE id = ?", (upload_id,))
    return Upload.decode(row[0]).reports


def _drop_late(connection: sqlite3.Connection, now_s: float) -> None:
    """Drop what no collector takes any more: the windows are closed."""
    late = connection.execute("DELETE FROM queue WHERE deadline <= ?", (now_s,)).rowcount
    _count(connection, TOO_LATE, late)
    uploads = connection.execute("SELECT id FROM uploads WHERE deadline <= ?", (now_s,)).fetchall()
    for (upload_id,) in uploads:
        _count(connection, UNANSWERED, len(_take(connection, upload_id)))


def _note(connection: sqlite3.Connection, report: Report, outcome: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?)",
        (report.metric, report.edition, report.window, report.symbol, outcome),
    )


def _count(connection: sqlite3.Connection, reason: str, reports: int) -> None:
    if reports:
        connection.execute(
            "INSERT INTO drops VALUES (?1, ?2) ON CONFLICT (reason) DO UPDATE SET reports = reports + ?2",
            (reason, reports),
        )
