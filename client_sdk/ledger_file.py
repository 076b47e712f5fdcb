"""The one SQLite file of a device: how it is made, opened, checked and emptied. The only importer of sqlite3.

It fails closed: a file that is damaged, foreign or newer is left exactly as it is, because a new one in its place would
renew the budget.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.results import LedgerBusyError, LedgerError

if TYPE_CHECKING:
    import sqlite3

FILE_NAME = "hearsay.sqlite3"

APPLICATION_ID = 0x48727361
"""SQLite's own mark for whose file it is: "Hrsa"."""

SCHEMA_VERSION = 1

BUSY_TIMEOUT_S = 0.05
"""How long one statement waits for another process: below the time that `record` has, above a commit's fsync."""

SECRET_BYTES = 32
"""A key as long as the digest of the PRF that permanent answers will be derived with."""

_SCHEMA = f"""
BEGIN;
CREATE TABLE device (app TEXT NOT NULL, secret BLOB);
CREATE TABLE charges (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, budget_window TEXT NOT NULL,
    nanos INTEGER NOT NULL, PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE INDEX charges_by_budget_window ON charges (budget_window, nanos);
CREATE TABLE queue (
    id INTEGER PRIMARY KEY, metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL,
    symbol INTEGER NOT NULL, deadline INTEGER NOT NULL
);
CREATE TABLE uploads (id TEXT PRIMARY KEY, body BLOB NOT NULL, deadline INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE history (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, symbol INTEGER NOT NULL,
    outcome TEXT NOT NULL, PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE drops (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


def open_memory(app: str) -> sqlite3.Connection:
    """Return a new ledger that lives as long as the connection."""
    connection = _connect(":memory:")
    connection.executescript(_SCHEMA)
    connection.execute("INSERT INTO device VALUES (?, ?)", (app, os.urandom(SECRET_BYTES)))
    return connection


def open_file(path: Path, app: str | None, *, create: bool) -> sqlite3.Connection:
    """Open the ledger at an absolute path.

    Args:
        path: the file.
        app: the app that it must belong to; none accepts any.
        create: whether to make what is missing: the directory (mode 0700), the file (0600), the device secret.

    Raises:
        LedgerError: if there is no such file, or it is not a sound ledger of this app.
        sqlite3.Error: if the file cannot be read.
        OSError: if it cannot be made.

    """
    if not path.exists():
        if not create or app is None:
            raise LedgerError(f"there is no ledger at {path}; nothing was ever recorded there")
        _create(path, app)
    connection = _connect(f"{path.as_uri()}?mode=rw")
    try:
        _check(connection, path, app)
        if create:
            _renew_secret(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def scrub(connection: sqlite3.Connection) -> None:
    """Overwrite what was deleted, in the file and in its write-ahead log.

    Raises:
        LedgerBusyError: if another process is reading or writing, so that its log must stay; call again.

    """
    _truncate_log(connection)
    connection.execute("VACUUM")
    _truncate_log(connection)


def explain(error: Exception, path: Path | None) -> LedgerError:
    """Return the error to show: a sentence that says what is wrong and what to do."""
    import sqlite3  # noqa: PLC0415 importing the SDK must stay quick

    if isinstance(error, LedgerError):
        return error
    name = path or "the ledger in memory"
    if isinstance(error, OSError):
        return LedgerError(f"{name} cannot be made: {error.strerror}; name a directory that this program may write")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of an extended code is detail
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerBusyError(f"{name} is in use by another process; try again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damaged(path)
    if code == sqlite3.SQLITE_FULL:
        return LedgerError(f"{name} cannot grow: the disk is full; free some space")
    what = getattr(error, "sqlite_errorname", type(error).__name__)
    return LedgerError(
        f"{name} cannot be used ({what}); give this program the right to write the file and its directory"
    )


def _connect(place: str) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415 importing the SDK must stay quick

    uri = place.startswith("file:")
    connection = sqlite3.connect(place, uri=uri, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path, app: str) -> None:
    """Make a whole ledger under a passing name, then give it its own.

    Whatever is found under the real name was therefore complete once: an empty or cut file is damage, never a
    beginning. `os.link` refuses to replace what another process made meanwhile.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    passing = path.with_name(f"{path.name}.{os.urandom(8).hex()}.new")
    try:
        os.close(os.open(passing, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.closing(_connect(f"{passing.as_uri()}?mode=rw")) as connection:
            connection.executescript(_SCHEMA)
            connection.execute("INSERT INTO device VALUES (?, ?)", (app, os.urandom(SECRET_BYTES)))
            connection.execute("PRAGMA journal_mode = WAL")
        with contextlib.suppress(FileExistsError):
            os.link(passing, path)
    finally:
        passing.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make the file's name durable: a ledger that a power cut makes vanish would renew the budget."""
    with contextlib.suppress(OSError):  # Windows opens no directories, and needs no such step
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check(connection: sqlite3.Connection, path: Path, app: str | None) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise _damaged(path)
    if _pragma(connection, "user_version") != SCHEMA_VERSION:
        raise LedgerError(f"{path} was written by a newer version; it is left as it is: update the app")
    if _pragma(connection, "quick_check(1)") != "ok":
        raise _damaged(path)
    row = connection.execute("SELECT app FROM device").fetchone()
    if row is None:
        raise _damaged(path)
    if app not in (None, row[0]):
        raise LedgerError(f"{path} is the ledger of the app {row[0]!r}, not {app!r}; give each app its own data_dir")


def _damaged(path: Path | None) -> LedgerError:
    return LedgerError(
        f"{path} is damaged or is no ledger; it is left as it is and nothing is recorded: restore it, or delete it by "
        "hand, which also forgets what was spent"
    )


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _renew_secret(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT 1 FROM device WHERE secret IS NULL").fetchone():
        connection.execute("UPDATE device SET secret = ? WHERE secret IS NULL", (os.urandom(SECRET_BYTES),))


def _truncate_log(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise LedgerBusyError("another process uses the ledger, so that its log still holds what was wiped; call again")
