"""Ledgers of version 2 of the schema, whose charges name their periods but not their day."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from client_sdk.ledger import create
from client_sdk.protocol import Window, WindowError, WindowKind

OVER = ""

SCHEMA = f"""
CREATE TABLE device (
    app TEXT NOT NULL, secret BLOB, inode TEXT, host TEXT, generation INTEGER NOT NULL, latest_s INTEGER NOT NULL
);
CREATE TABLE charges (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, budget_window TEXT NOT NULL,
    month TEXT NOT NULL, nanos INTEGER NOT NULL, attos INTEGER NOT NULL, reported INTEGER NOT NULL,
    PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE INDEX charges_by_budget_window ON charges (budget_window, nanos);
CREATE INDEX charges_by_month ON charges (month, nanos);
CREATE TABLE slots (window TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stratum (chosen_s INTEGER NOT NULL, end_s INTEGER NOT NULL, done INTEGER NOT NULL);
CREATE TABLE counts (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE queue (
    id INTEGER PRIMARY KEY, metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL,
    symbol INTEGER NOT NULL, deadline INTEGER NOT NULL, release INTEGER NOT NULL
);
CREATE TABLE uploads (
    id TEXT PRIMARY KEY, body BLOB NOT NULL, deadline INTEGER NOT NULL,
    turn INTEGER NOT NULL, late_attempts INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE history (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, symbol INTEGER NOT NULL,
    outcome TEXT NOT NULL, PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE drops (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {create.APPLICATION_ID};
PRAGMA user_version = 2;
"""


class OldCharge(NamedTuple):
    """A row of version 2."""

    metric: str
    edition: str
    window: str
    budget_window: str
    month: str
    nanos: int
    attos: int = 0
    reported: int = 1


def write(path: Path, charges: Iterable[OldCharge], latest_s: float) -> None:
    """Make the ledger file of the app acme, whose clock has reached an instant."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with closing(sqlite3.connect(path)) as connection, connection:
        fill(connection, charges, latest_s, inode=str(path.stat().st_ino))
        connection.execute("PRAGMA journal_mode = WAL")


def fill(
    connection: sqlite3.Connection, charges: Iterable[OldCharge], latest_s: float, inode: str | None = None
) -> None:
    """Write the tables and their rows."""
    connection.executescript(SCHEMA)
    connection.execute(
        "INSERT INTO device VALUES ('acme', ?, ?, NULL, 1, ?)", (create.draw_secret(), inode, int(latest_s))
    )
    connection.executemany("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", charges)


def opted_out(charges: Iterable[OldCharge], now_s: float) -> list[OldCharge]:
    """Return the charges that version 2 kept after its user opted out."""
    kept: dict[tuple[str, str, str], OldCharge] = {}
    for charge in charges:
        budget_window, month = (
            period if _goes_on(period, now_s) else OVER for period in (charge.budget_window, charge.month)
        )
        key = charge[:3] if _goes_on(charge.window, now_s) else (OVER, OVER, f"sum {budget_window} {month}")
        before = kept[key].nanos if key in kept else 0
        kept[key] = OldCharge(*key, budget_window, month, before + charge.nanos)
    return list(kept.values())


def charged(number: int, instant_s: float, budget_kind: WindowKind, kind: WindowKind, nanos: int) -> OldCharge:
    """Return the charge of a report of a window of a kind at an instant."""
    budget_window, month = (Window.of(period, instant_s).text for period in (budget_kind, WindowKind.MONTH))
    window = Window.of(kind, instant_s).text
    return OldCharge(f"m{number}", "0123456789ab", window, budget_window, month, nanos)


def _goes_on(period: str, now_s: float) -> bool:
    try:
        return Window.parse(period).ends_at > now_s
    except WindowError:
        return False
