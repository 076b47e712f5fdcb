"""Answers that were lost before they became reports: counted in memory, then in the ledger's file.

They are counted by reason only, without the question. An app may ask a thousand times a day what
the budget does not allow, so that the file is written once a minute at most.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from client_sdk.ledger import history

if TYPE_CHECKING:
    import sqlite3

STORE_EVERY_S = 60.0
"""The least time between writes: counts matter less than the life of a disk."""


class Losses:
    """The answers that one process has lost."""

    def __init__(self) -> None:
        """Start without any."""
        self._lock = threading.Lock()
        self._counts = Counter[str]()
        self._stored_s = time.monotonic()

    def add(self, reason: str) -> bool:
        """Count an answer; return whether it is time to `store`."""
        with self._lock:
            self._counts[reason] += 1
            return time.monotonic() - self._stored_s >= STORE_EVERY_S

    def store(self, connection: sqlite3.Connection) -> None:
        """Move the counts into the file, within a write transaction."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            self._stored_s = time.monotonic()
        for reason, answers in counts.items():
            history.count_dropped(connection, reason, answers)

    def dropped(self, connection: sqlite3.Connection) -> dict[str, int]:
        """Return the number of dropped reports and answers by reason, from file and memory."""
        stored = history.dropped(connection)
        with self._lock:
            return dict(sorted((Counter(stored) + self._counts).items()))

    def __bool__(self) -> bool:
        """Whether any are counted in memory only."""
        return bool(self._counts)
