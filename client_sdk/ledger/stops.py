"""The questions that a collector has stopped: this device asks them no more.

Each function is one step of a transaction that the caller has begun. A stop holds for one edition
of a metric, and is remembered until the user opts out. Nothing that a collector says ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from client_sdk.protocol.wire.stopped import Question

if TYPE_CHECKING:
    import sqlite3

MOST_KEPT: Final = 1000
"""More than an app ever has editions. Stops beyond it take no room on the disk, and none of those
kept is forgotten for them.
"""


def learn(connection: sqlite3.Connection, questions: Iterable[Question]) -> None:
    """Remember stopped questions; after opting out, when there is no secret, remember nothing."""
    connection.executemany(
        "INSERT OR IGNORE INTO stops SELECT ?, ? FROM device"
        " WHERE secret IS NOT NULL AND (SELECT COUNT(*) FROM stops) < ?",
        [(*question, MOST_KEPT) for question in questions],
    )


def is_stopped(connection: sqlite3.Connection, metric: str, edition: str) -> bool:
    """Whether a collector has stopped an edition of a metric."""
    query = "SELECT 1 FROM stops WHERE metric = ? AND edition = ?"
    return connection.execute(query, (metric, edition)).fetchone() is not None


def stopped(connection: sqlite3.Connection) -> list[Question]:
    """Return all stopped questions, sorted."""
    return [(metric, edition) for metric, edition in connection.execute("SELECT metric, edition FROM stops ORDER BY 1")]
