"""Opting out: deletes everything in a ledger except the spent amounts.

Without the spent amounts, the device could spend its budget again by opting out and in. A charge
also contains its metric and its day. The metric and the day are kept only until the window of the
charge has ended. The charges of ended windows are added up, with a separate sum for each period
whose ceiling still applies. For example, a monthly ceiling needs the sum of the current month.

If the user withdraws consent to one purpose, the metrics of other purposes are still reported, and
may be charged to windows of the last three days. Therefore these days, their weeks and their months
have separate sums, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.ledger import charges, outbox
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.explanations import explain
from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import DAY_S, GRACE_S, Window, WindowKind
from client_sdk.results import LedgerBusyError

if TYPE_CHECKING:
    import sqlite3

OVER = ""
"""The string that replaces the day of a charge that no longer counts towards any day, week or
month. In a sum of charges, `OVER` also replaces the metric and the edition."""

WIPED = (
    "queue",
    "uploads",
    "retries",
    "history",
    "drops",
    "counts",
    "registries",
    "problems",
    "editions",
)
"""The tables that opting out empties. The table ``editions`` contains the metrics that a collector
has stopped. A collector could send a device a unique list of stopped metrics, to recognize the
device later. Such a mark must not outlast the user's consent."""


def forget(path: Path) -> None:
    """Delete a ledger's data as `client_sdk.Telemetry.forget` does, without running the app."""
    try:
        with contextlib.closing(ledger_file.open_file(path, None, create=False)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            wipe(connection)
            connection.execute("COMMIT")
            scrub(connection)
    except Exception as error:  # noqa: BLE001 every problem with the file is explained in a sentence
        raise explain(error, path) from None
    remove_leftovers(path)


def wipe(connection: sqlite3.Connection) -> None:
    """Delete all data except spent amounts and the charges of current windows.

    The remaining data contains no answers.
    """
    for table in WIPED:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 the names are those above
    connection.execute("UPDATE charges SET reported = 1")  # so that no charge gets a report after opting out
    connection.execute("UPDATE device SET secret = NULL, agrees = 0")
    _add_up(connection, grace_days=0)
    _forget_participation(connection)
    for (window,) in connection.execute("SELECT window FROM slots").fetchall():
        if not _goes_on(window, charges.latest_s(connection)):
            connection.execute("DELETE FROM slots WHERE window = ?", (window,))


def _forget_participation(connection: sqlite3.Connection) -> None:
    """With the strategy ``pace``, keep only the time from which the device may report again."""
    connection.execute("DELETE FROM stratum WHERE done = 0 OR end_s <= ?", (charges.latest_s(connection),))
    connection.execute("UPDATE stratum SET chosen_s = end_s")


def withdraw(connection: sqlite3.Connection, is_covered: Callable[[str], bool]) -> bool:
    """Delete the data of metrics that the user's consent no longer covers.

    Return whether running counts were deleted.

    The secret is kept, because the other metrics need it. If the user agrees again and gives the
    same answer, the secret yields the same permanent answer as before. A different permanent answer
    would reveal more about the answer.
    """
    outbox.withdraw(connection, is_covered)
    deleted = {table: _delete_of(connection, table, is_covered) for table in ("queue", "history", "counts")}
    names = "SELECT DISTINCT metric FROM charges WHERE metric <> ?"
    gone = [name for (name,) in connection.execute(names, (OVER,)).fetchall() if not is_covered(name)]
    connection.executemany("UPDATE charges SET reported = 1 WHERE metric = ?", [(name,) for name in gone])
    _add_up(connection, grace_days=GRACE_S // DAY_S, metrics=gone)
    return deleted["counts"]


def _delete_of(connection: sqlite3.Connection, table: str, is_covered: Callable[[str], bool]) -> bool:
    names = connection.execute(f"SELECT DISTINCT metric FROM {table}").fetchall()  # noqa: S608 a name from above
    gone = [name for name in names if not is_covered(*name)]
    connection.executemany(f"DELETE FROM {table} WHERE metric = ?", gone)  # noqa: S608 as above
    return bool(gone)


def may_have_erased(connection: sqlite3.Connection) -> bool:
    """Whether a charge is marked as reported, but the report has been erased or dropped."""
    query = (
        "SELECT metric, edition, window FROM charges WHERE reported = 1"
        " EXCEPT SELECT metric, edition, window FROM queue EXCEPT SELECT metric, edition, window FROM history"
    )
    return connection.execute(query).fetchone() is not None


def wipe_counts(connection: sqlite3.Connection) -> None:
    """Delete running counts and days of use, which are stored without noise."""
    connection.execute("DELETE FROM counts")


def _add_up(connection: sqlite3.Connection, *, grace_days: int, metrics: Collection[str] | None = None) -> None:
    """Replace the charges of ended windows with sums.

    Each sum has a day, which is the first day of a period (day, week or month) that can still be
    charged. A charge is added to the latest sum whose day is not after the charge's day. No such
    period begins between the two days, so the charge still counts towards the same ceilings. For
    example, if today is Thursday the 10th, a charge on Tuesday is added to the sum of Monday, the
    first day of the week. If all sums have later days, the charge is added to the sum `OVER`.
    """
    now_s = charges.latest_s(connection)
    marks = _marks(now_s, grace_days)
    rows = connection.execute(
        "SELECT metric, edition, window, first_day, last_day, nanos, attos, reported FROM charges"
    ).fetchall()
    rows = [row for row in rows if metrics is None or row[0] in metrics]
    connection.executemany(
        "DELETE FROM charges WHERE metric = ? AND edition = ? AND window = ?", [row[:3] for row in rows]
    )
    for *key, first_day, last_day, nanos, attos, reported in rows:
        # if a charge's exact day is unknown, its first and last possible days differ
        first, last = (max((mark for mark in marks if mark <= day), default=OVER) for day in (first_day, last_day))
        name = f"sum {last}" if first == last else f"sum {first} {last}"
        connection.execute(
            "INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (metric, edition, window)"
            " DO UPDATE SET nanos = nanos + excluded.nanos, attos = attos + excluded.attos",
            (*(key if _goes_on(key[2], now_s) else (OVER, OVER, name)), first, last, nanos, attos, reported),
        )


def _marks(now_s: int, grace_days: int) -> set[str]:
    """Return the first day of each period that contains today or a day of the grace period."""
    today = Window.at(WindowKind.DAY, now_s).first_day
    days = [today - timedelta(days=back) for back in range(grace_days + 1)]
    return {Window.on(kind, day).first_day.isoformat() for kind in WindowKind for day in days}


def _goes_on(window: str, now_s: int) -> bool:
    """Whether a charge's window is open; false for a sum of charges."""
    try:
        return Window.parse(window).ends_at > now_s
    except WindowError:
        return False


def scrub(connection: sqlite3.Connection) -> None:
    """Overwrite deleted data, in the file and in its write-ahead log.

    Raises:
        LedgerBusyError: if another process is reading or writing; call again.
    """
    empty_log(connection)
    connection.execute("VACUUM")
    empty_log(connection)


def remove_leftovers(path: Path) -> None:
    """Delete the temporary files of processes that were killed while they created the ledger."""
    for leftover in path.parent.glob(f"{path.name}.*{ledger_file.TEMPORARY_SUFFIX}*"):
        # the pattern also matches SQLite's log
        try:
            leftover.unlink(missing_ok=True)
        except OSError as error:
            raise explain(error, leftover) from None


def empty_log(connection: sqlite3.Connection) -> None:
    """Empty the write-ahead log, which contains deleted data until the log is overwritten."""
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise LedgerBusyError("another process uses the ledger, whose log still contains erased data; erase again")
