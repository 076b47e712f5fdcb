"""What tests of the ledger share."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest

from client_sdk.ledger.file import open_memory


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(open_memory("acme")) as connection:
        yield connection
