"""Counts that are added up over a window and reported once, when the window has ended.

In memory a count lives as long as its process. If the registry says ``persist``, the running count,
which is a true answer, stands in the ledger's file until its window has ended. Days of use take the
same course (`client_sdk.answers.days_of_use`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

from client_sdk.answers import calendar, days_of_use, reporting
from client_sdk.answers.calendar import EndedCount, Phase
from client_sdk.answers.consent import Agreement
from client_sdk.answers.randomized import Randomized
from client_sdk.host import forks
from client_sdk.ledger import charges, stops
from client_sdk.ledger.charges import Slot
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.results import Recorded

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.kinds.number import Count


class RunningCounts:
    """The counts of one process that are kept in memory."""

    def __init__(self) -> None:
        """Start without counts."""
        self._counts: dict[tuple[object, str, str], int] = {}

    def add(self, definition: Metric, window: Window, by: int) -> None:
        """Add to the count of a window, up to the metric's max; a child process counts by itself.

        It is called in the ledger thread only, and takes no lock, which a fork could leave locked.
        """
        key = (forks.this_process(), definition.name, window.text)
        self._counts[key] = min(self._counts.get(key, 0) + by, _most(definition))

    def clear(self) -> None:
        """Forget everything."""
        self._counts.clear()

    def keep(self, is_covered: Callable[[str], bool]) -> None:
        """Forget the counts of questions that are not covered, by their names."""
        for key in [key for key in list(self._counts) if not is_covered(key[1])]:
            del self._counts[key]

    def ended(self, registry: Registry, instant_s: float) -> list[EndedCount]:
        """Return the counts of windows that have ended."""
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
        """Forget a count."""
        self._counts.pop((forks.this_process(), ended.definition.name, ended.window.text), None)


def addend(definition: Metric, by: object) -> int:
    """Return what is added to a count, from 0 to its ``max``.

    Raises:
        OutsideDomainError: if it is no whole number; the error does not hold it.

    """
    return definition.read(lambda: int(cast("Count", definition.kind).within(by)))


def draw_addend(definition: Metric, coins: Coins) -> int:
    """Return a number drawn uniformly from 0 to a count's ``max``, for an invalid one."""
    return coins.below(int(cast("Count", definition.kind).high) + 1)


def _most(definition: Metric) -> int:
    return definition.kind.most


def add_persistent(connection: sqlite3.Connection, definition: Metric, window: Window, by: int) -> None:
    """Add to the count of a window, up to the metric's max, in the ledger's file."""
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
    """Return the file's counts of ended windows that are still defined, one of each window."""
    sums: dict[tuple[str, str], int] = {}  # a device that moves counts in each of its strata
    for name, edition, text, count in _ended_rows(connection, instant_s):
        if name in registry.metrics and edition in registry.metrics[name].editions:
            sums[name, text] = min(sums.get((name, text), 0) + count, _most(registry.metrics[name]))
    return [EndedCount(registry.metrics[name], Window.parse(text), count) for (name, text), count in sums.items()]


def forget_ended_persistent(connection: sqlite3.Connection, instant_s: float) -> bool:
    """Delete the file's counts of ended windows; return whether there were any."""
    rows = [row[:3] for row in _ended_rows(connection, instant_s)]
    connection.executemany("DELETE FROM counts WHERE metric = ? AND edition = ? AND window = ?", rows)
    return bool(rows)


def _ended_rows(connection: sqlite3.Connection, instant_s: float) -> list[tuple[str, str, str, int]]:
    rows = connection.execute("SELECT metric, edition, window, count FROM counts WHERE edition <> ''").fetchall()
    return [row for row in rows if calendar.phase(Window.parse(row[2]), instant_s) is not Phase.RUNNING]


Randomize = Callable[[Metric, object], Randomized]


class CountReports(NamedTuple):
    """Adds to counts and reports them, each within a transaction that the caller has begun."""

    registry: Registry
    agreement: Agreement
    counts: RunningCounts

    def add(self, connection: sqlite3.Connection, definition: Metric, by: int, instant_s: float) -> Recorded:
        """Add to the present window's count, or remember today as a day of use."""
        window = Window.of(definition.window, instant_s)
        key = reporting.key_of(connection, definition, window)
        if stops.is_stopped(connection, *key[:2]):
            return Recorded.STOPPED
        if definition.kind.call == "active":
            days_of_use.mark(connection, definition, instant_s)
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
        """Report the counts of ended windows; return whether any were deleted from the file."""
        for ended in self.counts.ended(self.registry, instant_s):
            if self._report(connection, coins, ended, instant_s, randomize) is not Recorded.QUEUED:
                # a queued count stays: this transaction may still be rolled back
                self.counts.drop(ended)
        for ended in ended_persistent(connection, self.registry, instant_s):
            self._report(connection, coins, ended, instant_s, randomize)
        were_counts = forget_ended_persistent(connection, instant_s)
        for ended in list(days_of_use.ended(connection, self.registry, instant_s)):
            self._report(connection, coins, ended, instant_s, randomize)
        return days_of_use.forget(connection, self.registry, instant_s) or were_counts

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
