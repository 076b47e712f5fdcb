"""How a ledger comes to be: its tables, its first row, its name on the disk."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.host import machine_id
from client_sdk.ledger import origin
from client_sdk.ledger.origin import Origin

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x48727361
"""SQLite's own mark for whose file it is: "Hrsa"."""

SCHEMA_VERSION = 3

BUSY_TIMEOUT_S = 0.05
"""How long one statement waits for another process: below the time that `record` has, above a commit's fsync."""

SECRET_BYTES = 32
"""A key as long as the digest of the PRF (`client_sdk.answers.coins`)."""

PASSING_SUFFIX = ".new"
"""Of a file that is not a ledger yet."""

CHARGES = (
    """CREATE TABLE charges (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, first_day TEXT NOT NULL,
    last_day TEXT NOT NULL, nanos INTEGER NOT NULL, attos INTEGER NOT NULL, reported INTEGER NOT NULL,
    PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID""",
    "CREATE INDEX charges_by_day ON charges (last_day, first_day, nanos)",
    "CREATE INDEX open_slots ON charges (window) WHERE reported = 0",
)
"""The statements that make the table of charges."""

QUEUED_ONCE = "CREATE UNIQUE INDEX queued_once ON queue (metric, edition, window)"
"""What is paid for once waits once, whichever version of the SDK another process runs."""

RETRIES = """
CREATE TABLE retries (
    upload TEXT PRIMARY KEY, due REAL NOT NULL, not_before REAL NOT NULL, tried REAL,
    failures INTEGER NOT NULL, refusals INTEGER NOT NULL
) WITHOUT ROWID
"""
"""The statement that makes the table of uploads that are sent again; an upload without a row there is due."""

_SCHEMA = f"""
BEGIN;
CREATE TABLE device (
    app TEXT NOT NULL, secret BLOB, inode TEXT, host TEXT, generation INTEGER NOT NULL, latest_s INTEGER NOT NULL,
    birth TEXT, file_system TEXT
);
{";".join(CHARGES)};
CREATE TABLE slots (window TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stratum (chosen_s INTEGER NOT NULL, end_s INTEGER NOT NULL, done INTEGER NOT NULL);
CREATE TABLE permanents (
    id INTEGER PRIMARY KEY, metric TEXT NOT NULL, edition TEXT NOT NULL, tag BLOB NOT NULL, symbol INTEGER NOT NULL
);
CREATE TABLE counts (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE queue (
    id INTEGER PRIMARY KEY, metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL,
    symbol INTEGER NOT NULL, deadline INTEGER NOT NULL, release INTEGER NOT NULL
);
{QUEUED_ONCE};
CREATE TABLE uploads (
    id TEXT PRIMARY KEY, body BLOB NOT NULL, deadline INTEGER NOT NULL,
    turn INTEGER NOT NULL, late_attempts INTEGER NOT NULL
) WITHOUT ROWID;
{RETRIES.strip()};
CREATE TABLE history (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, symbol INTEGER NOT NULL,
    outcome TEXT NOT NULL, PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE drops (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


def connect(place: str) -> sqlite3.Connection:
    """Return a connection that is durable and overwrites what it deletes."""
    import sqlite3  # noqa: PLC0415 importing the SDK must stay quick

    uri = place.startswith("file:")
    connection = sqlite3.connect(place, uri=uri, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def create(path: Path, app: str) -> None:
    """Make a whole ledger under a passing name, then give it its own.

    Whatever is found under the real name was therefore complete once: an empty or cut file is damage, never a
    beginning.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    passing = path.with_name(f"{path.name}.{os.urandom(8).hex()}{PASSING_SUFFIX}")
    try:
        os.close(os.open(passing, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.closing(connect(f"{passing.as_uri()}?mode=rw")) as connection:
            fill(connection, app, origin.of(passing))
            connection.execute("PRAGMA journal_mode = WAL")
        with contextlib.suppress(FileExistsError):  # another process made one meanwhile
            _give_name(passing, path)
    finally:
        passing.unlink(missing_ok=True)
    _sync_directory(path.parent)


def fill(connection: sqlite3.Connection, app: str, made_at: Origin) -> None:
    """Write an empty ledger; its origin tells a copy, which must not spend its budget a second time, from itself."""
    connection.executescript(_SCHEMA)
    machine = None if made_at.inode is None else machine_id.identify(app)
    connection.execute(
        "INSERT INTO device VALUES (?, ?, ?, ?, 1, 0, ?, ?)",
        (app, draw_secret(), made_at.inode, machine, made_at.birth, made_at.file_system),
    )


def _give_name(passing: Path, path: Path) -> None:
    """Give a file its own name; `FileExistsError`, or nothing done, if that is taken."""
    try:
        os.link(passing, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links here, as on FAT: no lasting inodes either, and on POSIX a rename would replace
        with contextlib.closing(connect(f"{passing.as_uri()}?mode=rw")) as connection:
            connection.execute("UPDATE device SET inode = NULL, birth = NULL, file_system = NULL")
        with _locked(path.parent):
            if not path.exists():
                passing.rename(path)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold a lock that ends with this process, however that ends. Windows needs none: its rename replaces nothing."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    """Make the file's name durable: a ledger that a power cut makes vanish would renew the budget."""
    with contextlib.suppress(OSError):  # Windows opens no directories, and needs no such step
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def draw_secret() -> bytes:
    """Return a new device secret."""
    return os.urandom(SECRET_BYTES)
