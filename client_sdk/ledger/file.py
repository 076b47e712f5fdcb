"""Creates, opens and checks the ledger, which is the SQLite file of a device.

A damaged file, or a file of a newer SDK version or of another app, is refused and left unchanged.
If the SDK replaced the file with a new one, the device could spend its budget again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from client_sdk.host import files, forks
from client_sdk.ledger import explanations, origin
from client_sdk.ledger.origin import Origin

if TYPE_CHECKING:
    import sqlite3

FILE_NAME = "hearsay.sqlite3"

APPLICATION_ID = 0x48727361
"""The number by which SQLite identifies the application: "Hrsa" in ASCII."""

SCHEMA_VERSION = 1

BUSY_TIMEOUT_S = 0.05
"""The maximum time, in seconds, that one statement waits while another process uses the file. The
timeout is longer than another process's commit with its fsync, and shorter than the time that
`record` may take."""

SECRET_BYTES = 32
"""The length of the secret in bytes, equal to the length of an HMAC-SHA-256."""

TEMPORARY_SUFFIX = ".new"
"""The suffix of a file's name until the file is a complete ledger."""

# device.agrees: whether the user agrees to anything (1 in a new ledger, which requires consent).
# queue.leaves: the Unix time at which the report is to be sent.
# retries: an upload without a row in this table is due.
# registries, problems: for people who inspect the ledger.
# editions: the editions of all registries; ``stopped`` is 1 if a collector has stopped the edition.
_SCHEMA = f"""
BEGIN;
CREATE TABLE device (
    app TEXT NOT NULL, secret BLOB, inode TEXT, host TEXT, generation INTEGER NOT NULL, latest_s INTEGER NOT NULL,
    birth TEXT, file_system TEXT, agrees INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE charges (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, first_day TEXT NOT NULL,
    last_day TEXT NOT NULL, nanos INTEGER NOT NULL, attos INTEGER NOT NULL, reported INTEGER NOT NULL,
    PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE INDEX charges_by_day ON charges (last_day, first_day, nanos);
CREATE INDEX open_slots ON charges (window) WHERE reported = 0;
CREATE TABLE slots (window TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stratum (chosen_s INTEGER NOT NULL, end_s INTEGER NOT NULL, done INTEGER NOT NULL);
CREATE TABLE counts (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE queue (
    id INTEGER PRIMARY KEY, metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL,
    symbol INTEGER NOT NULL, deadline INTEGER NOT NULL, release INTEGER NOT NULL, leaves REAL NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX queued_once ON queue (metric, edition, window);
CREATE TABLE uploads (
    id TEXT PRIMARY KEY, body BLOB NOT NULL, deadline INTEGER NOT NULL,
    turn INTEGER NOT NULL, late_attempts INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE retries (
    upload TEXT PRIMARY KEY, due REAL NOT NULL, not_before REAL NOT NULL, tried REAL,
    failures INTEGER NOT NULL, refusals INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE registries (turn INTEGER PRIMARY KEY, digest TEXT NOT NULL, source BLOB NOT NULL);
CREATE TABLE problems (about TEXT PRIMARY KEY, sentence TEXT NOT NULL, at_s INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE editions (
    metric TEXT NOT NULL, edition TEXT NOT NULL, stopped INTEGER NOT NULL, PRIMARY KEY (metric, edition)
) WITHOUT ROWID;
CREATE TABLE history (
    metric TEXT NOT NULL, edition TEXT NOT NULL, window TEXT NOT NULL, symbol INTEGER NOT NULL,
    outcome TEXT NOT NULL, PRIMARY KEY (metric, edition, window)
) WITHOUT ROWID;
CREATE TABLE drops (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


def load() -> None:
    """Import sqlite3. A fork of this process is delayed until the import is complete."""
    with forks.importing():
        import sqlite3  # noqa: F401, PLC0415 importing the SDK must stay quick


def exists(path: Path) -> bool:
    """Whether ``path`` exists. Raise a `LedgerError` if its directory cannot be read."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise explanations.explain(error, path) from None
    return True


def open_memory(app: str) -> sqlite3.Connection:
    """Return a connection to a new ledger in memory. Closing the connection deletes the ledger."""
    connection = connect(":memory:")
    fill(connection, app, origin.NOWHERE)
    return connection


def open_own(path: Path | None, app: str, maker: tuple[int, int], agrees: Callable[[], bool]) -> sqlite3.Connection:
    """Open the ledger of a `Telemetry` in this process. The ledger thread calls this function.

    If ``path`` is None, create a ledger in memory, or raise an error in any process except
    ``maker``. A missing file is created only if ``agrees()`` is true.
    """
    if path is None:
        if forks.this_process() != maker:
            raise explanations.in_memory()
        return open_memory(app)
    if forks.inherited_open(path):
        raise explanations.inherited(path)
    return open_file(path, app, create=agrees())


def open_file(path: Path, app: str | None, *, create: bool) -> sqlite3.Connection:
    """Open the ledger at an absolute path.

    If ``app`` is None, the ledger may belong to any app, or be a copy, so that people can inspect
    the ledger. If ``create`` is true, create a missing directory (mode 0700), file (0600) and
    device secret.

    Raises:
        LedgerError: if the file is missing, or is not a valid ledger of this app.
        sqlite3.Error: if the file cannot be read.
        OSError: if the file cannot be created.
    """
    if not exists(path):
        if not create or app is None:
            raise explanations.missing(path)
        make(path, app)
    connection = connect(uri_of(path))
    try:
        noted = check(connection, path, app)
        if create:
            _note_origin(connection, noted, origin.origin_of(path))
            _renew_secret(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def check(connection: sqlite3.Connection, path: Path, app: str | None) -> Origin:
    """Check a ledger and return its stored origin.

    If ``app`` is None, the ledger of any app is accepted.
    """
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise explanations.damaged(path)
    if _pragma(connection, "user_version") != SCHEMA_VERSION:
        raise explanations.newer(path)
    if _pragma(connection, "quick_check(1)") != "ok":
        raise explanations.damaged(path)
    row = connection.execute("SELECT app, host, inode, birth, file_system FROM device").fetchone()
    if row is None:
        raise explanations.damaged(path)
    owner, machine, *evidence = row
    noted_origin = Origin(*evidence)
    if app is None:
        return noted_origin
    if app != owner:
        raise explanations.foreign(path, owner, app)
    if noted_origin.contradicts(origin.origin_of(path)) or machine not in (None, origin.machine_id(app)):
        raise explanations.copied(path)
    return noted_origin


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _note_origin(connection: sqlite3.Connection, noted: Origin, present: Origin) -> None:
    """Store the parts of a file's origin that were unknown when the file was created."""
    is_news = any(before is None and now is not None for before, now in zip(noted, present, strict=True))
    if is_news and noted.inode is not None:
        connection.execute(
            "UPDATE device SET birth = COALESCE(birth, ?), file_system = COALESCE(file_system, ?)", present[1:]
        )


def _renew_secret(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT 1 FROM device WHERE secret IS NULL").fetchone():
        connection.execute(
            "UPDATE device SET secret = ?, generation = generation + 1 WHERE secret IS NULL",
            (draw_secret(),),
        )


def uri_of(path: PurePath) -> str:
    """Return the SQLite URI that opens an existing file at an absolute path for writing.

    For a path on a Windows share, the server's name becomes part of the path. SQLite refuses URIs
    that name a machine before the path (https://www.sqlite.org/uri.html, section 3.1).
    """
    uri = path.as_uri()
    return f"{uri if uri.startswith('file:///') else uri.replace('//', '////', 1)}?mode=rw"


def connect(place: str) -> sqlite3.Connection:
    """Return a connection that commits durably and overwrites deleted data with zeros."""
    import sqlite3  # noqa: PLC0415 importing the SDK must stay quick

    uri = place.startswith("file:")
    connection = sqlite3.connect(place, uri=uri, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def make(path: Path, app: str) -> None:
    """Create a complete ledger under a temporary name, then rename it.

    Therefore an empty or truncated file with the final name was damaged after its creation.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.closing(connect(uri_of(temporary))) as connection:
            fill(connection, app, origin.origin_of(temporary))
            connection.execute("PRAGMA journal_mode = WAL")
        with contextlib.suppress(FileExistsError):  # another process has created one
            _give_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    files.sync_directory(path.parent)  # if a power cut lost the name, a new ledger would renew the budget


def fill(connection: sqlite3.Connection, app: str, file_origin: Origin) -> None:
    """Create the tables of a new ledger, and store the app's name, a new secret and the origin."""
    connection.executescript(_SCHEMA)
    machine = None if file_origin.inode is None else origin.machine_id(app)
    connection.execute(
        "INSERT INTO device VALUES (?, ?, ?, ?, 1, 0, ?, ?, 1)",
        (app, draw_secret(), file_origin.inode, machine, file_origin.birth, file_origin.file_system),
    )


def _give_name(temporary: Path, path: Path) -> None:
    """Give a file its final name, unless another file already has this name.

    If the name is taken, `FileExistsError` is raised on file systems with hard links. On other file
    systems, the temporary file keeps its name.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # FAT has no hard links, and no stable inodes; a POSIX rename would replace a file
        with contextlib.closing(connect(uri_of(temporary))) as connection:
            connection.execute("UPDATE device SET inode = NULL, birth = NULL, file_system = NULL")
        files.rename_if_free(temporary, path)


def draw_secret() -> bytes:
    """Return a new device secret."""
    return os.urandom(SECRET_BYTES)
