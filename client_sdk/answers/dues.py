"""Does the work that is due because time has passed, such as charges for new windows.

A *slot* is a charge to the device's budget that is made when a window begins, even if the app never
records an answer in that window. If the registry sets ``fill_in`` for a metric, the metric has a
*fill*, which is the input that means "no answer". For such a metric, the transaction that charges
the slot also queues a report of "no answer". A later answer only replaces the symbol in this
report. Counts are reported after their window has ended.

No decision depends on an answer. Consider two devices that have the same registries and are used at
the same times. Only one of them records an answer. For metrics with a fill, the reports of both
devices have the same metric, edition, window and earliest sending time. New registries, clock
changes and opting out affect the same reports on both devices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from client_sdk.answers import calendar, participation
from client_sdk.answers.calendar import release_s
from client_sdk.answers.consent import Agreement
from client_sdk.answers.counters import CountReports, RunningCounts
from client_sdk.answers.randomized import Randomized, symbol_of
from client_sdk.ledger import charges, queue, registries
from client_sdk.ledger.charges import Slot, SlotKey
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import Report

if TYPE_CHECKING:
    import sqlite3

    RandomizeNow = Callable[[sqlite3.Connection, Metric, object], Randomized]
    import sqlite3


class Dues:
    """Does the work that the calendar makes due, within a transaction of the ledger.

    Attributes:
        looks_ahead: whether any metric is charged when its window begins.
        adds_up: whether any metric is a count or a number of days of use.
        counts: the counts in memory.
        counting: the object that adds to counts, and reports the counts.
        has_leftovers: whether counts were deleted from the ledger's file. If so, the write-ahead
            log must be emptied, because it may still contain these counts.
    """

    def __init__(self, registry: Registry, agreement: Agreement, randomize: RandomizeNow) -> None:
        """Read the metrics and the ceilings from the registry."""
        metrics = registry.metrics.values()
        self.looks_ahead = any(calendar.has_slots(registry, metric) for metric in metrics)
        self.adds_up = any(metric.kind.call != "record" for metric in metrics)
        self.counts = RunningCounts()
        self.counting = CountReports(registry, agreement, self.counts)
        # a process that was killed may have left deleted counts in the write-ahead log
        self.has_leftovers = any(metric.persist for metric in metrics)
        self._registry = registry
        self._agreement = agreement
        self._randomize = randomize
        self._fills_in = any(metric.fill is not None for metric in metrics)

    def carry_out(self, connection: sqlite3.Connection, coins: Coins, instant_s: float, secret: bytes) -> None:
        """Do all work that is due at an instant."""
        randomize = partial(self._randomize, connection)
        drop_held(connection, lambda *key: self._agreement.asked(*key) is not None)
        # Pay for slots before ended counts. Otherwise, a count could use up a ceiling, and the
        # missing report of a metric with a fill would reveal that something was counted.
        # `client_sdk.protocol.registry.feasibility` finds ceilings that do not allow both.
        for window in calendar.due(self._registry, instant_s).windows:
            participation.open_slots(
                connection, self._registry, secret, window, instant_s, is_covered=self._agreement.takes
            )
        if self._fills_in:
            fill_in(connection, self._agreement.asked, coins, randomize)
        # counts of an earlier registry may remain
        if self.adds_up or connection.execute("SELECT 1 FROM counts LIMIT 1").fetchone():
            self.has_leftovers |= self.counting.report_ended(connection, coins, instant_s, randomize)
        close_ended(connection, instant_s)


def fill_in(
    connection: sqlite3.Connection,
    asked: Callable[[str, str, str], Metric | None],
    coins: Coins,
    randomize: Callable[[Metric, object], Randomized],
) -> None:
    """Queue a "no answer" report for each unreported charge of a metric that has ``fill_in``.

    ``asked`` takes the metric name, edition and window of a charge, and returns the metric. The
    result is None if the device no longer answers the metric. ``randomize`` randomizes an answer to
    a metric.
    """
    for key in open_slots(connection):
        definition = asked(*key)
        if definition is not None and definition.fill is not None and not registries.is_stopped(connection, *key[:2]):
            randomized = randomize(definition, definition.fill.answer)
            symbol = symbol_of(connection, definition, randomized, coins)
            fill_slot(connection, key)
            queue.enqueue(connection, Report(*key, symbol), release_s(Window.parse(key[2]), coins))


def open_slots(connection: sqlite3.Connection) -> list[SlotKey]:
    """Return the key of each charge that has no report."""
    query = "SELECT metric, edition, window FROM charges WHERE reported = 0"
    return [(metric, edition, window) for metric, edition, window in connection.execute(query).fetchall()]


def fill_slot(connection: sqlite3.Connection, key: SlotKey) -> None:
    """Mark the waiting report of a charge as a "no answer" report."""
    charges.set_slot(connection, key, Slot.FILLED)


def close_ended(connection: sqlite3.Connection, instant_s: float) -> None:
    """Mark each charge as reported if it has no report and its window has ended.

    No later answer can then use the charge.
    """
    for key in open_slots(connection):
        if Window.parse(key[2]).ends_at <= instant_s:
            charges.set_slot(connection, key, Slot.REPORTED)


def drop_held(connection: sqlite3.Connection, is_asked: Callable[[str, str, str], bool]) -> None:
    """Drop held reports of metrics that the device no longer answers.

    The number of dropped reports is stored. A *held* report waits in the queue until after its
    window's end.
    """
    latest = "SELECT metric, edition, MAX(window) FROM queue WHERE release > 0 GROUP BY metric, edition"
    for metric, edition, window in connection.execute(latest).fetchall():
        if not is_asked(metric, edition, window):
            # a metric that is asked in its latest window was also asked in all earlier windows
            _drop_held_of(connection, metric, edition, is_asked)


def _drop_held_of(
    connection: sqlite3.Connection, metric: str, edition: str, is_asked: Callable[[str, str, str], bool]
) -> None:
    held = "SELECT id, window FROM queue WHERE release > 0 AND metric = ? AND edition = ?"
    rows = connection.execute(held, (metric, edition)).fetchall()
    dropped = [(row_id,) for row_id, window in rows if not is_asked(metric, edition, window)]
    connection.executemany("DELETE FROM queue WHERE id = ?", dropped)
    queue.count_dropped(connection, queue.NO_LONGER_ASKED, len(dropped))
