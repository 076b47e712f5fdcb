"""Slots, and the reports that are held back until their window has ended, in the ledger's file.

A slot is a charge that is made because its window began, whether or not anything is recorded in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from client_sdk.ledger import charges, history
from client_sdk.ledger.charges import Slot, SlotKey
from client_sdk.protocol.window import Window

if TYPE_CHECKING:
    import sqlite3


def open_slots(connection: sqlite3.Connection) -> list[SlotKey]:
    """Return the keys of charges that have no report."""
    query = "SELECT metric, edition, window FROM charges WHERE reported = 0"
    return [(metric, edition, window) for metric, edition, window in connection.execute(query).fetchall()]


def fill_slot(connection: sqlite3.Connection, key: SlotKey) -> None:
    """Note that the report of a charge waits, and says so far that nothing was recorded."""
    charges.set_slot(connection, key, Slot.FILLED)


def close_ended(connection: sqlite3.Connection, instant_s: float) -> None:
    """Close slots of ended windows: the counts that they were paid for are reported by then."""
    for key in open_slots(connection):
        if Window.parse(key[2]).ends_at <= instant_s:
            charges.set_slot(connection, key, Slot.REPORTED)


def drop_held(connection: sqlite3.Connection, is_asked: Callable[[str, str, str], bool]) -> None:
    """Drop and count held-back reports whose metric is no longer asked in their window."""
    latest = "SELECT metric, edition, MAX(window) FROM queue WHERE release > 0 GROUP BY metric, edition"
    for metric, edition, window in connection.execute(latest).fetchall():
        if not is_asked(metric, edition, window):
            # what is asked in a window was asked in all before it
            _drop_held_of(connection, metric, edition, is_asked)


def _drop_held_of(
    connection: sqlite3.Connection, metric: str, edition: str, is_asked: Callable[[str, str, str], bool]
) -> None:
    held = "SELECT id, window FROM queue WHERE release > 0 AND metric = ? AND edition = ?"
    rows = connection.execute(held, (metric, edition)).fetchall()
    dropped = [(row_id,) for row_id, window in rows if not is_asked(metric, edition, window)]
    connection.executemany("DELETE FROM queue WHERE id = ?", dropped)
    history.count_dropped(connection, history.NO_LONGER_ASKED, len(dropped))
