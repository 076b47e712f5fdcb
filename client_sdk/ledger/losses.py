"""Counts, in memory and in the ledger, the answers that were lost before they became reports.

Only the reason for a loss is stored, not the metric. The counts are written to the ledger's file at
most once a minute, because an app may lose many answers. For example, an app may record a thousand
answers a day, although the budget allows one report.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from client_sdk.ledger import queue, status
from client_sdk.results import LedgerError, Recorded

if TYPE_CHECKING:
    import sqlite3

STORE_EVERY_S = 60.0
"""The minimum time between writes to the ledger's file, in seconds, to spare the disk."""

LOST = frozenset(
    {
        Recorded.OUT_OF_BUDGET,
        Recorded.NOT_ASKED,
        Recorded.STOPPED,
        Recorded.EXPIRED,
        Recorded.BUSY,
        Recorded.UNAVAILABLE,
    }
)
"""The results of `record` that count as losses. A second answer within a window is not a loss."""


class Losses:
    """Counts the lost answers of one process."""

    def __init__(self) -> None:
        """Start without losses."""
        self._lock = threading.Lock()
        self._counts = Counter[str]()
        self._stored_s = time.monotonic()

    def add(self, recorded: Recorded) -> bool:
        """Count an answer if it was lost; return whether it is time to store the counts."""
        if recorded not in LOST:
            return False
        with self._lock:
            self._counts[recorded.value] += 1
            return time.monotonic() - self._stored_s >= STORE_EVERY_S

    def store(self, connection: sqlite3.Connection) -> Counter[str]:
        """Write the counts to the ledger's file, in the caller's transaction; return the counts."""
        with self._lock:
            counts = self._counts.copy()
            self._stored_s = time.monotonic()
        if connection.execute("SELECT 1 FROM device WHERE secret IS NOT NULL").fetchone():
            for reason, answers in counts.items():
                queue.count_dropped(connection, reason, answers)
        return counts

    def stored(self, counts: Counter[str] | LedgerError | None) -> None:
        """Subtract the counts that `store` has written. Call this method after the commit."""
        if isinstance(counts, Counter):
            with self._lock:
                self._counts -= counts

    def clear(self) -> None:
        """Forget all counts after the user has opted out."""
        with self._lock:
            self._counts.clear()

    def dropped(self, connection: sqlite3.Connection) -> dict[str, int]:
        """Return the numbers of lost reports and answers, stored and in memory, keyed by reason."""
        stored = status.dropped(connection)
        with self._lock:
            return dict(Counter(stored) + self._counts)

    def __bool__(self) -> bool:
        """Whether some losses have not been written to the file yet."""
        return bool(self._counts)
