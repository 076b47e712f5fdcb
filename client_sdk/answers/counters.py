"""What is added up over a window, to be reported once when the window has ended.

In memory a count lives as long as its process. Where the registry says ``persist`` the running count, which is a true
answer, stands in the ledger's file until its window has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from client_sdk.host import forks
from client_sdk.protocol.domain import Count
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window

if TYPE_CHECKING:
    import sqlite3


class Counted(NamedTuple):
    """A count whose window has ended."""

    definition: Metric
    window: Window
    answer: int


class Counters:
    """The counts of one process that are kept in memory."""

    def __init__(self) -> None:
        """Begin with none."""
        self._counts: dict[tuple[object, str, str], int] = {}

    def add(self, definition: Metric, window: Window, by: int) -> None:
        """Count within a window, up to the metric's max; a child process counts by itself.

        Called in the keeper's thread only, and without a lock: a fork could leave it locked.
        """
        key = (forks.this_process(), definition.name, window.text)
        self._counts[key] = min(self._counts.get(key, 0) + by, _most(definition))

    def clear(self) -> None:
        """Forget everything."""
        self._counts.clear()

    def ended(self, registry: Registry, instant_s: float) -> list[Counted]:
        """Return the counts of windows that have ended."""
        this = forks.this_process()
        known = [
            (name, Window.parse(text), count) for (one, name, text), count in list(self._counts.items()) if one == this
        ]
        return [
            Counted(registry.metrics[name], window, count)
            for name, window, count in known
            if window.ends_at <= instant_s
        ]

    def drop(self, counted: Counted) -> None:
        """Forget a count."""
        self._counts.pop((forks.this_process(), counted.definition.name, counted.window.text), None)


def _most(definition: Metric) -> int:
    assert isinstance(definition.domain, Count)  # noqa: S101 nothing else adds up
    return int(definition.domain.high)


def add_persistent(connection: sqlite3.Connection, definition: Metric, window: Window, by: int) -> None:
    """Count within a window, up to the metric's max, in the ledger's file."""
    most = _most(definition)
    connection.execute(
        "INSERT INTO counts VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT (metric, edition, window) DO UPDATE SET count = MIN(count + ?4, ?5)",
        (definition.name, definition.edition, window.text, min(by, most), most),
    )


def take_ended_persistent(connection: sqlite3.Connection, registry: Registry, instant_s: float) -> list[Counted]:
    """Return the counts in the file whose windows have ended, and delete them."""
    rows = connection.execute("SELECT metric, edition, window, count FROM counts").fetchall()
    ended = [row for row in rows if Window.parse(row[2]).ends_at <= instant_s]
    connection.executemany("DELETE FROM counts WHERE metric = ? AND edition = ? AND window = ?", [r[:3] for r in ended])
    return [
        Counted(registry.metrics[name], Window.parse(text), count)
        for name, edition, text, count in ended
        if name in registry.metrics and registry.metrics[name].edition == edition
    ]
