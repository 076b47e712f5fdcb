"""The ledger's data about its device: the secret, the user's consent, and the latest problems.

The ledger stores whether the user has agreed to any telemetry. After a program has ended, a helper
process checks the stored consent and then sends the waiting reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from client_sdk.results import LedgerError

if TYPE_CHECKING:
    import sqlite3


CLOCK, UPLOAD = "clock", "upload"
"""The possible sources of a problem: the device's clock, or the latest upload."""


class Secret(NamedTuple):
    """The device's secret, and how many secrets the device has had.

    The secret changes if the user opts out and in again.
    """

    key: bytes
    generation: int


def secret_of(connection: sqlite3.Connection) -> Secret:
    """Return the device's secret."""
    key, generation = connection.execute("SELECT secret, generation FROM device").fetchone()
    if key is None:
        raise LedgerError("the user opted out in another process; nothing is recorded until this program restarts")
    return Secret(key, generation)


def note_agreement(connection: sqlite3.Connection, *, agrees: bool) -> bool:
    """Store ``agrees``; return False if the user has opted out in the meantime.

    Opting out erases the secret. Without a secret, nothing is stored.
    """
    is_in, before = connection.execute("SELECT secret IS NOT NULL, agrees FROM device").fetchone()
    if is_in and before != agrees:
        connection.execute("UPDATE device SET agrees = ?", (agrees,))
    return bool(is_in)


def agrees(connection: sqlite3.Connection) -> bool:
    """Whether the user has agreed to any telemetry."""
    return bool(connection.execute("SELECT agrees FROM device").fetchone()[0])


def note_problem(connection: sqlite3.Connection, about: str, sentence: str | None) -> None:
    """Store a problem and the ledger's time; if ``sentence`` is None, delete the problem."""
    connection.execute("DELETE FROM problems WHERE about = ?", (about,))
    if sentence is not None:
        connection.execute(
            "INSERT INTO problems SELECT ?, ?, latest_s FROM device WHERE secret IS NOT NULL", (about, sentence)
        )
