"""When an upload that is under way is sent again: at a random time of its own, which stands in the ledger's file.

Each function is one step of a transaction that the caller has begun. What is answered to an upload moves its own time
only: if it moved that of another upload, or sent two together, whoever answers could tell that both are one device's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from client_sdk.ledger.backoff import Uniform, next_delay_s

if TYPE_CHECKING:
    import sqlite3

EXCHANGE_S = 60
"""An upload that is being sent is due again after the longest exchange (`client_sdk.sending.transport.DEADLINE_S`), so that no
other process sends it meanwhile, and a process that is killed meanwhile leaves a time behind."""


class Retry(NamedTuple):
    """An upload under way.

    Attributes:
        upload: its id.
        due_s: the Unix seconds of its next attempt.
        not_before_s: the Unix seconds until when the collector asked to be left alone with it; of a report that was
            refused, those of its next attempt.
        tried_s: the Unix seconds of its latest attempt; none before the first.

    """

    upload: str
    due_s: float
    not_before_s: float
    tried_s: float | None

    def wait_s(self, now_s: float, *, hurried: bool) -> float:
        """Return in how many seconds it may be sent; where the host is in a hurry, as soon as the collector allows."""
        wait_s = (self.not_before_s if hurried else self.due_s) - now_s
        clock_was_set_back = self.tried_s is not None and now_s < self.tried_s - EXCHANGE_S
        return 0.0 if clock_was_set_back else max(wait_s, 0.0)


def pending(connection: sqlite3.Connection) -> list[Retry]:
    """Return all uploads under way, the least recently tried first."""
    rows = connection.execute(
        "SELECT id, COALESCE(due, 0), COALESCE(not_before, 0), tried"
        " FROM uploads LEFT JOIN retries ON upload = id ORDER BY turn"
    )
    return [Retry(*row) for row in rows]


def are_due(connection: sqlite3.Connection, instant_s: float) -> bool:
    """Whether an upload was due at an instant already."""
    return any(retry.due_s <= instant_s for retry in pending(connection))


def begin(connection: sqlite3.Connection, upload_id: str, now_s: float) -> None:
    """Take note that a new upload is being sent."""
    connection.execute("INSERT INTO retries VALUES (?, ?, 0, ?, 0, 0)", (upload_id, now_s + EXCHANGE_S, now_s))


def claim(connection: sqlite3.Connection, retry: Retry, now_s: float) -> bool:
    """Take note that an upload is being sent again; return false if it is no longer as it was planned."""
    if retry not in pending(connection):
        return False
    connection.execute(
        "INSERT INTO retries VALUES (?1, ?2, 0, ?3, 0, 0) ON CONFLICT (upload) DO UPDATE SET due = ?2, tried = ?3",
        (retry.upload, now_s + EXCHANGE_S, now_s),
    )
    return True


def fail(connection: sqlite3.Connection, upload_id: str, now_s: float, retry_after_s: float, uniform: Uniform) -> None:
    """Take note that an attempt came to nothing: the same bytes are sent again after a back-off of this upload's own.

    Args:
        connection: within a write transaction.
        upload_id: that of the upload, which may be settled by now.
        now_s: Unix seconds.
        retry_after_s: how long the collector asked to be left alone with it.
        uniform: the source of jitter.

    """
    row = connection.execute("SELECT failures FROM retries WHERE upload = ?", (upload_id,)).fetchone()
    if row is not None:
        due_s = now_s + next_delay_s(row[0], retry_after_s, uniform)
        connection.execute(
            "UPDATE retries SET due = ?, not_before = ?, failures = failures + 1 WHERE upload = ?",
            (due_s, now_s + retry_after_s, upload_id),
        )


def refuse(connection: sqlite3.Connection, upload_id: str, due_s: float, refusals: int) -> None:
    """Take note of the time, which nothing hurries, at which a refused report is sent again in a new upload."""
    connection.execute("INSERT INTO retries VALUES (?, ?, ?, NULL, 0, ?)", (upload_id, due_s, due_s, refusals))


def refusals(connection: sqlite3.Connection, upload_id: str) -> int:
    """Return how often the report of an upload was refused before; 0 for an upload of reports that never were."""
    row = connection.execute("SELECT refusals FROM retries WHERE upload = ?", (upload_id,)).fetchone()
    return 0 if row is None else int(row[0])


def end(connection: sqlite3.Connection, upload_id: str) -> None:
    """Forget the times of an upload."""
    connection.execute("DELETE FROM retries WHERE upload = ?", (upload_id,))
