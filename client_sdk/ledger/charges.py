"""Records the device's charges: epsilon in billionths, and delta in units of 10**-18.

A charge records its day. The amount spent within a period, such as a week, is the sum over the days
of the period. Therefore spent amounts still count if a new registry changes the period of the
budget, for example from a week to a month. If the day of a charge is no longer known, the charge
has a first and a last possible day. The charge then counts towards every period that contains a
possible day.

A charge and its report become durable together or not at all. The key of a charge consists of the
metric, the edition (a digest of the metric's definition) and the window. Each key allows one
report. A *slot* is a charge that is made when a window begins, whether or not an answer follows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.host.clock import check_sane
from client_sdk.protocol.budget import Budget, Cost, Spent
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.results import ClockError

if TYPE_CHECKING:
    import sqlite3

CLOCK_BACK_S = 86_400
"""The maximum time, in seconds, by which the device's clock may be set back. After a smaller
correction, the ledger's time pauses until the clock has caught up. A larger correction is an error,
because the device could otherwise spend its budget twice."""

NOTED_S = 3600
"""The length, in seconds, of the period in which the ledger's time is written at most once. Hourly
writes are enough, because windows begin on the hour."""

SlotKey = tuple[str, str, str]
"""Metric, edition and window of a charge."""


class Slot(IntEnum):
    """The state of a charge: whether it has a report, and whether the report has an answer."""

    OPEN = 0
    REPORTED = 1
    FILLED = 2
    """The report waits in the queue, and says "no answer" until an answer is recorded."""
    AWAITED = 3
    """The report waits in the queue. An answer from the app's provider function may still replace
    the report's symbol."""


class Periods(NamedTuple):
    """The day, the budget's window and the month of a charge."""

    day: Window
    budget_window: Window
    month: Window

    @classmethod
    def at(cls, budget: Budget, instant_s: float) -> Periods:
        """Return the periods that contain an instant."""
        return cls(*(Window.at(kind, instant_s) for kind in (WindowKind.DAY, budget.window, WindowKind.MONTH)))


def instant(connection: sqlite3.Connection, clock_s: float) -> float:
    """Return the ledger's current time in Unix seconds. The ledger's time never goes back.

    Raises:
        ClockError: if the clock was set back by more than a day, or if it shows a time that no
            collector accepts.
    """
    seen_s = latest_s(connection)
    check_sane(clock_s)
    if clock_s < seen_s - CLOCK_BACK_S:
        day = Window.at(WindowKind.DAY, seen_s).text
        raise ClockError(
            f"the device's clock is before {day}, the day of the latest answer; set the clock, because nothing is "
            "recorded until that day"
        )
    if clock_s // NOTED_S > seen_s // NOTED_S:
        connection.execute("UPDATE device SET latest_s = ?", (int(clock_s),))
    return max(clock_s, float(seen_s))


def latest_s(connection: sqlite3.Connection) -> int:
    """Return the latest instant that the ledger has seen, in whole Unix seconds."""
    return int(connection.execute("SELECT latest_s FROM device").fetchone()[0])


def charge(connection: sqlite3.Connection, key: SlotKey, cost: Cost, budget: Budget, periods: Periods) -> bool:
    """Charge a cost if all ceilings allow it; return whether they do. No report is queued."""
    attos = connection.execute("SELECT COALESCE(SUM(attos), 0) FROM charges").fetchone()[0]
    allowed = not budget.exceeded(Spent(*spent_nanos(connection, periods), attos), cost)
    if allowed:
        day = periods.day.text
        connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*key, day, day, *cost, Slot.OPEN))
    return allowed


def slot(connection: sqlite3.Connection, key: SlotKey) -> Slot | None:
    """Return the state of a charge; None if there is no charge with this key."""
    query = "SELECT reported FROM charges WHERE metric = ? AND edition = ? AND window = ?"
    row = connection.execute(query, key).fetchone()
    return None if row is None else Slot(row[0])


def spent_nanos(connection: sqlite3.Connection, periods: Periods) -> tuple[int, int, int]:
    """Return the billionths of epsilon spent in the budget's window, in the month, and in total."""
    within_window, within_month = (
        _within_nanos(connection, period) for period in (periods.budget_window, periods.month)
    )
    return within_window, within_month, lifetime_nanos(connection)


def lifetime_nanos(connection: sqlite3.Connection) -> int:
    """Return the billionths of epsilon spent in the lifetime of the device."""
    return int(connection.execute("SELECT COALESCE(SUM(nanos), 0) FROM charges").fetchone()[0])


def _within_nanos(connection: sqlite3.Connection, period: Window) -> int:
    query = "SELECT COALESCE(SUM(nanos), 0) FROM charges WHERE first_day <= ? AND last_day >= ?"
    days = period.last_day.isoformat(), period.first_day.isoformat()
    return int(connection.execute(query, days).fetchone()[0])


def set_slot(connection: sqlite3.Connection, key: SlotKey, slot: Slot) -> None:
    """Store the state of a charge."""
    query = "UPDATE charges SET reported = ? WHERE metric = ? AND edition = ? AND window = ?"
    connection.execute(query, (slot, *key))
