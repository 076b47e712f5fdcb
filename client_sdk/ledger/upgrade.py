"""How a ledger of an earlier version of the SDK becomes one of the present schema.

Version 2 recorded the names of the period and the month that a charge counted towards, not its day.
The charge gets a first and a last day: those that all its names allow. It counts towards every
period that holds one of these days. Nothing is forgotten, and nothing can be spent again.

Version 3 noted nothing for people who look at the ledger. Version 4 knew of no stopped questions.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from client_sdk.ledger import create
from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window, WindowKind

if TYPE_CHECKING:
    import sqlite3

OLDEST_VERSION = 2
"""The oldest schema that can be upgraded. Version 1 did not keep the time, so that days could be
spent again."""

DATED_VERSION = 3
"""The first schema whose charges have their days. It did not keep when a report may leave."""

NOTED_VERSION = 4
"""The first schema that notes problems, registries, and when a report may leave."""

OVER = ""
"""Version 2's name for a period that was over when its user opted out."""


def upgrade(connection: sqlite3.Connection) -> None:
    """Upgrade a ledger to the present schema, in one transaction, unless it has it."""
    if _version(connection) == create.SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # another process may have done it meanwhile
        if version < DATED_VERSION:
            _from_version_2(connection)
        if version < NOTED_VERSION:
            connection.execute(f"ALTER TABLE queue ADD COLUMN {create.LEAVES}")
            for statement in create.NOTES:
                connection.execute(statement)
        if version < create.SCHEMA_VERSION:
            connection.execute(f"ALTER TABLE device ADD COLUMN {create.AGREES}")
            connection.execute(create.EDITIONS)
            connection.execute("UPDATE registries SET digest = ''")  # so that the app's names its editions
            connection.execute(f"PRAGMA user_version = {create.SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def possible_days(budget_window: str, month: str, window: str, latest: date) -> tuple[str, str]:
    """Return the first and the last day on which a charge of version 2 may have been made.

    Args:
        budget_window: the period of the first ceiling at the time, or `OVER`.
        month: the month, or `OVER`.
        window: the window of the charge, within which it was made, or words that name none.
        latest: the latest day that the ledger has seen.

    """
    held_by = [period for period in map(_parsed, (budget_window, month, window)) if period is not None]
    lasts = [latest, *(period.last_day for period in held_by)]
    if budget_window == OVER:
        lasts.append(latest - timedelta(days=1))
    if month == OVER:
        lasts.append(latest.replace(day=1) - timedelta(days=1))
    first = max((period.first_day for period in held_by), default=date.min)
    return first.isoformat(), max(first, min(lasts)).isoformat()


def _from_version_2(connection: sqlite3.Connection) -> None:
    _date_charges(connection)
    connection.execute(create.QUEUED_ONCE)
    connection.execute(create.RETRIES)
    for evidence in ("birth", "file_system"):
        # parts of the file's origin, noted when they are known
        connection.execute(f"ALTER TABLE device ADD COLUMN {evidence} TEXT")


def _date_charges(connection: sqlite3.Connection) -> None:
    (latest_s,) = connection.execute("SELECT latest_s FROM device").fetchone()
    latest = Window.of(WindowKind.DAY, latest_s).first_day
    rows = connection.execute(
        "SELECT metric, edition, window, budget_window, month, nanos, attos, reported FROM charges"
    ).fetchall()
    connection.execute("DROP TABLE charges")  # and its indices
    for statement in create.CHARGES:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (metric, edition, window, *possible_days(budget_window, month, window, latest), *rest)
            for metric, edition, window, budget_window, month, *rest in rows
        ),
    )


def _parsed(text: str) -> Window | None:
    try:
        return Window.parse(text)
    except WindowError:
        return None


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
