"""Whether the user agrees to anything, as the program said that started or was told last.

Each function is one step of a transaction that the caller has begun. A helper looks here whenever
it takes something to send: it belongs to an earlier program, which knows nothing of a later start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


def note(connection: sqlite3.Connection, *, agrees: bool) -> bool:
    """Note whether the user agrees; return False if they have opted out, when nothing is noted."""
    is_in, before = connection.execute("SELECT secret IS NOT NULL, agrees FROM device").fetchone()
    if is_in and before != agrees:
        connection.execute("UPDATE device SET agrees = ?", (agrees,))
    return bool(is_in)


def holds(connection: sqlite3.Connection) -> bool:
    """Whether the user agrees to anything."""
    return bool(connection.execute("SELECT agrees FROM device").fetchone()[0])
