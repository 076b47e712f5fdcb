"""Empty ledgers in memory, by the thousand: the tables are made once and copied."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.file import open_memory


def empty_ledger() -> sqlite3.Connection:
    """Return a ledger as `open_memory` makes it; all of them have the secret of the first."""
    connection = ledger_file.connect(":memory:")
    connection.deserialize(_empty())
    return connection


@cache
def _empty() -> bytes:
    with closing(open_memory("acme")) as first:
        return first.serialize()
