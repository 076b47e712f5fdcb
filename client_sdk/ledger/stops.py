"""The editions that the app's registries name, and which of them a collector has stopped.

A stop holds for one edition of a metric, and is remembered until the user opts out. Nothing that a
collector says ends it.

Only a registry names an edition, and a collector can only stop what is named. No answer therefore
takes up room, however many come. A registry is the same on every device, so the stops that a device
keeps say nothing about what its user has answered, or whether.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from client_sdk.protocol.wire.stopped import Question

if TYPE_CHECKING:
    import sqlite3


def name(connection: sqlite3.Connection, questions: Iterable[Question]) -> None:
    """Note the questions of a registry, which a collector may stop."""
    connection.executemany("INSERT OR IGNORE INTO editions VALUES (?, ?, 0)", questions)


def learn(connection: sqlite3.Connection, questions: Iterable[Question]) -> None:
    """Remember stopped questions; leave out what no registry has named."""
    connection.executemany(
        "UPDATE editions SET stopped = 1 WHERE metric = ? AND edition = ? AND stopped = 0", questions
    )


def is_stopped(connection: sqlite3.Connection, metric: str, edition: str) -> bool:
    """Whether a collector has stopped an edition of a metric."""
    query = "SELECT 1 FROM editions WHERE metric = ? AND edition = ? AND stopped = 1"
    return connection.execute(query, (metric, edition)).fetchone() is not None


def stopped(connection: sqlite3.Connection) -> list[Question]:
    """Return all stopped questions, sorted."""
    query = "SELECT metric, edition FROM editions WHERE stopped = 1 ORDER BY metric, edition"
    return [(metric, edition) for metric, edition in connection.execute(query)]
