"""Stores, in the ledger's file, the random times at which uploads without a verdict are resent.

An upload without a verdict is *unsettled*. A response to an upload changes only the retry time of
this upload. Otherwise, the collector could link several uploads to one device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from client_sdk.ledger.backoff import Uniform, next_delay_s

if TYPE_CHECKING:
    import sqlite3

EXCHANGE_S = 60
"""The maximum duration, in seconds, of an exchange with the collector
(`client_sdk.sending.timing.DEADLINE_S`). After this time, an upload in progress is due again, even
if the process that sent it was killed. Until then, other processes send it only in a flush. The
collector counts an upload only once."""


class Retry(NamedTuple):
    """The id of an unsettled upload, and the Unix time ``due_s`` of the next attempt.

    ``not_before_s`` is the earliest time that the collector allows. Until a refused report is first
    resent, ``not_before_s`` equals ``due_s``. ``tried_s`` is the time of the latest attempt; None
    before the first attempt.
    """

    upload: str
    due_s: float
    not_before_s: float
    tried_s: float | None

    def wait_s(self, now_s: float, *, hurried: bool) -> float:
        """Return the seconds until the upload is due or, if ``hurried``, until it may be sent."""
        wait_s = (self.not_before_s if hurried else self.due_s) - now_s
        clock_was_set_back = self.tried_s is not None and now_s < self.tried_s - EXCHANGE_S
        return 0.0 if clock_was_set_back else max(wait_s, 0.0)


def pending(connection: sqlite3.Connection) -> list[Retry]:
    """Return all unsettled uploads, sorted by the time of their latest attempt."""
    rows = connection.execute(
        "SELECT id, COALESCE(due, 0), COALESCE(not_before, 0), tried"
        " FROM uploads LEFT JOIN retries ON upload = id ORDER BY turn"
    )
    return [Retry(*row) for row in rows]


def begin(connection: sqlite3.Connection, new: Retry, refusals: int = 0) -> None:
    """Store the retry time of a new upload, and how often its report was refused before."""
    connection.execute("INSERT INTO retries VALUES (?, ?, ?, ?, 0, ?)", (*new, refusals))


def claim(connection: sqlite3.Connection, retry: Retry, now_s: float) -> bool:
    """Mark an upload as being sent again; return False if ``retry`` is out of date."""
    if retry not in pending(connection):
        return False
    connection.execute(
        "INSERT INTO retries VALUES (:upload, :due, 0, :now, 0, 0)"
        " ON CONFLICT (upload) DO UPDATE SET due = :due, tried = :now",
        {"upload": retry.upload, "due": now_s + EXCHANGE_S, "now": now_s},
    )
    return True


def fail(connection: sqlite3.Connection, upload_id: str, now_s: float, retry_after_s: float, uniform: Uniform) -> None:
    """Record a failed attempt. The same bytes are sent again after the upload's back-off.

    If another process has settled the upload, nothing is stored. ``retry_after_s`` is the delay
    that the collector has requested.
    """
    row = connection.execute("SELECT failures FROM retries WHERE upload = ?", (upload_id,)).fetchone()
    if row is not None:
        due_s = now_s + next_delay_s(row[0], retry_after_s, uniform)
        connection.execute(
            "UPDATE retries SET due = ?, not_before = ?, failures = failures + 1 WHERE upload = ?",
            (due_s, now_s + retry_after_s, upload_id),
        )


def refusals(connection: sqlite3.Connection, upload_id: str) -> int:
    """Return how often the report of an upload was refused before; 0 for new reports."""
    row = connection.execute("SELECT refusals FROM retries WHERE upload = ?", (upload_id,)).fetchone()
    return 0 if row is None else int(row[0])


def end(connection: sqlite3.Connection, upload_id: str) -> None:
    """Delete the stored times of an upload."""
    connection.execute("DELETE FROM retries WHERE upload = ?", (upload_id,))
