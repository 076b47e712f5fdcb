"""Adds up counts and days of use, and reports each sum when its window has ended.

A *running count* is the sum so far in the current window. The running count is kept in memory, and
lost when the process ends. If the registry sets ``persist`` for the metric, the ledger's file
contains the running count until the window has ended. The file then contains a true answer.

A *day of use* is a day on which the app was used. Each day of use is one row in the ledger's table
of counts. The column ``window`` contains the day. The column ``edition`` is empty, because later
editions of the metric count the day, too.

A report counts the days of use in a period that ends with the report's window. The device makes the
report when the app first runs after the window, but only if the app was used within the window.
However, if the registry sets ``fill_in`` for the metric, the device makes a report for every window
in which the app ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from client_sdk.answers import calendar, reporting
from client_sdk.answers.calendar import EndedCount, Phase
from client_sdk.answers.consent import Agreement
from client_sdk.answers.randomized import Randomized
from client_sdk.host import forks
from client_sdk.ledger import charges, registries
from client_sdk.ledger.charges import Slot
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import DAY_S, GRACE_S, Window, WindowKind
from client_sdk.results import Recorded

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.kinds.number import Count


class RunningCounts:
    """The counts in the memory of one process."""

    def __init__(self) -> None:
        """Start without counts."""
        self._counts: dict[tuple[object, str, str], int] = {}

    def add(self, definition: Metric, window: Window, by: int) -> None:
        """Add to a window's count, up to the metric's ``max``. A child process has its own counts.

        Only the ledger thread calls this method. A lock would be unsafe, because a child process
        could inherit a locked lock.
        """
        key = (forks.this_process(), definition.name, window.text)
        self._counts[key] = min(self._counts.get(key, 0) + by, _most(definition))

    def clear(self) -> None:
        """Forget all counts."""
        self._counts.clear()

    def keep(self, is_covered: Callable[[str], bool]) -> None:
        """Forget the counts of metrics that the user's consent does not cover."""
        for key in [key for key in list(self._counts) if not is_covered(key[1])]:
            del self._counts[key]

    def ended(self, registry: Registry, instant_s: float) -> list[EndedCount]:
        """Return the counts of ended windows."""
        this = forks.this_process()
        own = [
            (name, Window.parse(text), count)
            for (process, name, text), count in list(self._counts.items())
            if process == this
        ]
        return [
            EndedCount(registry.metrics[name], window, count)
            for name, window, count in own
            if calendar.phase(window, instant_s) is not Phase.RUNNING
        ]

    def drop(self, ended: EndedCount) -> None:
        """Forget the count of an ended window."""
        self._counts.pop((forks.this_process(), ended.definition.name, ended.window.text), None)


def addend(definition: Metric, by: object) -> int:
    """Return the number to add to a count, from 0 to the count's ``max``.

    Raises:
        OutsideDomainError: if ``by`` is not a whole number. The error does not contain ``by``.
    """
    return definition.read(lambda: int(cast("Count", definition.kind).within(by)))


def draw_addend(definition: Metric, coins: Coins) -> int:
    """Draw a number uniformly from 0 to a count's ``max``, to replace an invalid number."""
    return coins.below(int(cast("Count", definition.kind).high) + 1)


def _most(definition: Metric) -> int:
    return definition.kind.most


def add_persistent(connection: sqlite3.Connection, definition: Metric, window: Window, by: int) -> None:
    """Add to a window's count in the ledger's file, up to the metric's ``max``."""
    most = _most(definition)
    connection.execute(
        "INSERT INTO counts VALUES (:metric, :edition, :window, :count)"
        " ON CONFLICT (metric, edition, window) DO UPDATE SET count = MIN(count + :count, :most)",
        {
            "metric": definition.name,
            "edition": definition.edition,
            "window": window.text,
            "count": min(by, most),
            "most": most,
        },
    )


def ended_persistent(connection: sqlite3.Connection, registry: Registry, instant_s: float) -> list[EndedCount]:
    """Return the stored counts of ended windows, for all metrics that ``registry`` defines."""
    sums: dict[tuple[str, str], int] = {}  # the file has one row for each stratum that the device was in
    for name, edition, text, count in _ended_rows(connection, instant_s):
        if name in registry.metrics and edition in registry.metrics[name].editions:
            sums[name, text] = min(sums.get((name, text), 0) + count, _most(registry.metrics[name]))
    return [EndedCount(registry.metrics[name], Window.parse(text), count) for (name, text), count in sums.items()]


def forget_ended_persistent(connection: sqlite3.Connection, instant_s: float) -> bool:
    """Delete the counts of ended windows from the ledger's file.

    Returns whether the file contained such counts.
    """
    rows = [row[:3] for row in _ended_rows(connection, instant_s)]
    connection.executemany("DELETE FROM counts WHERE metric = ? AND edition = ? AND window = ?", rows)
    return bool(rows)


def _ended_rows(connection: sqlite3.Connection, instant_s: float) -> list[tuple[str, str, str, int]]:
    rows = connection.execute("SELECT metric, edition, window, count FROM counts WHERE edition <> ''").fetchall()
    return [row for row in rows if calendar.phase(Window.parse(row[2]), instant_s) is not Phase.RUNNING]


Randomize = Callable[[Metric, object], Randomized]


class CountReports(NamedTuple):
    """Adds to counts and reports them. The caller begins and commits each transaction."""

    registry: Registry
    agreement: Agreement
    counts: RunningCounts

    def add(self, connection: sqlite3.Connection, definition: Metric, by: int, instant_s: float) -> Recorded:
        """Add to the current window's count, or store today as a day of use."""
        window = Window.at(definition.window, instant_s)
        key = reporting.key_of(connection, definition, window)
        if registries.is_stopped(connection, *key[:2]):
            return Recorded.STOPPED
        if definition.kind.call == "active":
            mark_day(connection, definition, instant_s)
            return Recorded.COUNTED
        if charges.slot(connection, key) is Slot.REPORTED:
            return Recorded.ALREADY_RECORDED
        if definition.persist:
            add_persistent(connection, definition, window, by)
        else:
            self.counts.add(definition, window, by)
        return Recorded.COUNTED

    def report_ended(
        self, connection: sqlite3.Connection, coins: Coins, instant_s: float, randomize: Randomize
    ) -> bool:
        """Report the counts of ended windows.

        Returns whether any count was deleted from disk.
        """
        for ended in self.counts.ended(self.registry, instant_s):
            if self._report(connection, coins, ended, instant_s, randomize) is not Recorded.QUEUED:
                # keep the count in memory if its report was queued: this transaction may still fail
                self.counts.drop(ended)
        for ended in ended_persistent(connection, self.registry, instant_s):
            self._report(connection, coins, ended, instant_s, randomize)
        were_counts = forget_ended_persistent(connection, instant_s)
        for ended in list(ended_periods(connection, self.registry, instant_s)):
            self._report(connection, coins, ended, instant_s, randomize)
        return forget_days(connection, self.registry, instant_s) or were_counts

    def _report(
        self, connection: sqlite3.Connection, coins: Coins, ended: EndedCount, instant_s: float, randomize: Randomize
    ) -> Recorded:
        definition, window, answer = ended
        if not self.agreement.takes(definition.name):
            return Recorded.NO_CONSENT
        if calendar.phase(window, instant_s) is Phase.CLOSED:
            return Recorded.EXPIRED
        return reporting.report(
            connection,
            self.registry,
            coins,
            definition,
            randomize(definition, answer),
            window=window,
            instant_s=window.ends_at - 1,
            held=True,
        )


NO_EDITION: Final = ""
"""The edition of all rows that store days of use."""


def mark_day(connection: sqlite3.Connection, definition: Metric, instant_s: float) -> None:
    """Store a day of use: the day that contains an instant."""
    day = Window.at(WindowKind.DAY, instant_s).text
    connection.execute("INSERT OR IGNORE INTO counts VALUES (?, ?, ?, 1)", (definition.name, NO_EDITION, day))


def forget_days(connection: sqlite3.Connection, registry: Registry, instant_s: float) -> bool:
    """Delete the days of use that no future report can include.

    Returns whether any day was deleted.
    """
    rows = connection.execute("SELECT metric, window FROM counts WHERE edition = ?", (NO_EDITION,)).fetchall()
    over = [row for row in rows if _is_over(registry.metrics.get(row[0]), Window.parse(row[1]), instant_s)]
    connection.executemany("DELETE FROM counts WHERE metric = ? AND edition = '' AND window = ?", over)
    return bool(over)


def number_of(days: Iterable[date], last: date, period: int) -> int:
    """Return how many of ``days`` are among the ``period`` days that end with ``last``."""
    return sum(0 <= (last - day).days < period for day in days)


def ended_periods(connection: sqlite3.Connection, registry: Registry, instant_s: float) -> Iterator[EndedCount]:
    """Yield the number of days of use for each ended window that has no report."""
    for definition in registry.metrics.values():
        if definition.kind.call == "active":
            days = _days(connection, definition)
            for window in _windows(connection, definition, days):
                if calendar.phase(window, instant_s) is Phase.ENDED:
                    dates = [day.first_day for day in days]
                    yield EndedCount(definition, window, number_of(dates, window.last_day, definition.kind.most))


def _windows(connection: sqlite3.Connection, definition: Metric, days: list[Window]) -> Iterator[Window]:
    """Yield each window that still needs a report.

    Such a window has a day of use, or a "no answer" report that waits to be replaced.
    """
    used = {Window.on(definition.window, day.first_day).text for day in days}
    # if the device has changed its stratum, the "no answer" reports keep the former edition
    filled = (_filled_windows(connection, definition.name, edition) for edition in definition.editions)
    for window in sorted(used.union(*filled)):
        if not _is_reported(connection, definition.name, window):
            yield Window.parse(window)


def _days(connection: sqlite3.Connection, definition: Metric) -> list[Window]:
    query = "SELECT window FROM counts WHERE metric = ? AND edition = ?"
    return [Window.parse(day) for (day,) in connection.execute(query, (definition.name, NO_EDITION)).fetchall()]


def _is_over(definition: Metric | None, day: Window, instant_s: float) -> bool:
    """Whether a day of use cannot be part of any future report."""
    if definition is None or definition.kind.call != "active":
        return True
    period_s = definition.kind.most * DAY_S
    needed_s = max(Window.on(definition.window, day.first_day).ends_at, day.starts_at + period_s)
    return needed_s + GRACE_S <= instant_s


def _filled_windows(connection: sqlite3.Connection, metric: str, edition: str) -> list[str]:
    """Return the windows in which a metric has a "no answer" report."""
    query = "SELECT window FROM charges WHERE metric = ? AND edition = ? AND reported = 2"
    return [window for (window,) in connection.execute(query, (metric, edition)).fetchall()]


def _is_reported(connection: sqlite3.Connection, metric: str, window: str) -> bool:
    """Whether a window's charge is marked as reported, under any edition of the metric."""
    query = "SELECT 1 FROM charges WHERE metric = ? AND window = ? AND reported = 1"
    return connection.execute(query, (metric, window)).fetchone() is not None
