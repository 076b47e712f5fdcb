"""Days of use: which days an app was used, and the number of them that a window's report holds.

The ledger's file holds them: true values, for as long as a report may count them. A row of its
table of counts stands for each day. It has no edition, because a day stays a day of use when the
question is asked with another epsilon, and the day as its window.

The report of a window counts the days of use among those of its period, which ends with the last
day of the window. It is made after that day, when the app next runs, if the window itself had a day
of use; a filled-in question is reported for every window in which the app ran at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Final

from client_sdk.answers import calendar
from client_sdk.answers.calendar import EndedCount, Phase
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import DAY_S, GRACE_S, Window, WindowKind

if TYPE_CHECKING:
    import sqlite3

NO_EDITION: Final = ""
"""What a day of use has instead of an edition."""


def mark(connection: sqlite3.Connection, definition: Metric, instant_s: float) -> None:
    """Remember the day of an instant as one of use."""
    day = Window.of(WindowKind.DAY, instant_s).text
    connection.execute("INSERT OR IGNORE INTO counts VALUES (?, ?, ?, 1)", (definition.name, NO_EDITION, day))


def forget(connection: sqlite3.Connection, registry: Registry, instant_s: float) -> bool:
    """Delete the days that no report will count; return whether there were any."""
    rows = connection.execute("SELECT metric, window FROM counts WHERE edition = ?", (NO_EDITION,)).fetchall()
    over = [row for row in rows if _is_over(registry.metrics.get(row[0]), Window.parse(row[1]), instant_s)]
    connection.executemany("DELETE FROM counts WHERE metric = ? AND edition = '' AND window = ?", over)
    return bool(over)


def number_of(days: Iterable[date], last: date, period: int) -> int:
    """Return how many days are among the ``period`` ones that end with a last day."""
    return sum(0 <= (last - day).days < period for day in days)


def ended(connection: sqlite3.Connection, registry: Registry, instant_s: float) -> Iterator[EndedCount]:
    """Yield the number of days of use for each window that has ended and lacks its report."""
    for definition in registry.metrics.values():
        if definition.kind.call == "active":
            days = _days(connection, definition)
            for window in _windows(connection, definition, days):
                if calendar.phase(window, instant_s) is Phase.ENDED:
                    dates = [day.first_day for day in days]
                    yield EndedCount(definition, window, number_of(dates, window.last_day, definition.kind.most))


def _windows(connection: sqlite3.Connection, definition: Metric, days: list[Window]) -> Iterator[Window]:
    """Yield windows with a day of use or a filled-in report, but no report of any edition."""
    used = {Window.on(definition.window, day.first_day).text for day in days}
    # a device that moved to another stratum has them in the one where it was
    filled = (_filled_windows(connection, definition.name, edition) for edition in definition.editions)
    for window in sorted(used.union(*filled)):
        if not _is_reported(connection, definition.name, window):
            yield Window.parse(window)


def _days(connection: sqlite3.Connection, definition: Metric) -> list[Window]:
    query = "SELECT window FROM counts WHERE metric = ? AND edition = ?"
    return [Window.parse(day) for (day,) in connection.execute(query, (definition.name, NO_EDITION)).fetchall()]


def _is_over(definition: Metric | None, day: Window, instant_s: float) -> bool:
    """Whether neither a day's window nor the last period that holds it can still be reported."""
    if definition is None or definition.kind.call != "active":
        return True
    period_s = definition.kind.most * DAY_S
    needed_s = max(Window.on(definition.window, day.first_day).ends_at, day.starts_at + period_s)
    return needed_s + GRACE_S <= instant_s


def _filled_windows(connection: sqlite3.Connection, metric: str, edition: str) -> list[str]:
    """Return the windows of a metric whose report says so far that nothing was recorded."""
    query = "SELECT window FROM charges WHERE metric = ? AND edition = ? AND reported = 2"
    return [window for (window,) in connection.execute(query, (metric, edition)).fetchall()]


def _is_reported(connection: sqlite3.Connection, metric: str, window: str) -> bool:
    """Whether any edition of a metric has its report of a window, or needs none any more."""
    query = "SELECT 1 FROM charges WHERE metric = ? AND window = ? AND reported = 1"
    return connection.execute(query, (metric, window)).fetchone() is not None
