"""Processes of a self-test on systems that break what the SDK relies on."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from client_sdk.commands import selftest


def hold_nothing(told: Connection, path: Path) -> None:
    """Claim that the ledger of a path is locked, although the lock excludes nobody."""
    told.send(f"holds {path}")
    told.recv()


def acknowledge_before_writing(told: Connection, path: Path, numbers: range) -> None:
    """Acknowledge the first report before it is committed, and write the others correctly."""
    told.send(numbers[0])
    selftest.write(told, path, numbers[1:])


def write_elsewhere(told: Connection, path: Path, numbers: range) -> None:
    """Write to a ledger that the parent does not share."""
    selftest.write(told, path.with_name("elsewhere.sqlite3"), numbers)
