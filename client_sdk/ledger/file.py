"""The one SQLite file of a device: how it is opened, checked and emptied.

It fails closed: a file that is damaged, foreign or newer is left unchanged, because a new file in
its place would renew the budget.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.host import forks, machine_id
from client_sdk.ledger import create as new_ledger
from client_sdk.ledger import explanations, origin
from client_sdk.ledger.origin import Origin

if TYPE_CHECKING:
    import sqlite3

FILE_NAME = "hearsay.sqlite3"


def load() -> None:
    """Import what a ledger needs, under the lock that a fork waits for, in any thread."""
    with forks.importing():
        import sqlite3  # noqa: F401, PLC0415 importing the SDK must stay quick


def exists(path: Path) -> bool:
    """Whether there is a file.

    Raises:
        LedgerError: if that is unknown, for example because the directory may not be read.

    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise explanations.explain(error, path) from None
    return True


def identify(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def open_memory(app: str) -> sqlite3.Connection:
    """Return a new ledger that lives as long as the connection."""
    connection = new_ledger.connect(":memory:")
    new_ledger.fill(connection, app, origin.NOWHERE)
    return connection


def open_own(path: Path | None, app: str, maker: tuple[int, int], agrees: Callable[[], bool]) -> sqlite3.Connection:
    """Open the ledger for this process, in the ledger thread's thread.

    Args:
        path: the file; None for a ledger in memory.
        app: the app that it must belong to.
        maker: the process that a ledger in memory stays with.
        agrees: returns whether the user agrees to anything; otherwise nothing is made.

    Raises:
        LedgerError: if it belongs to another process, or as `open_file` does.

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

    Args:
        path: the file.
        app: the app that it must belong to. None accepts any app, and also a copy, for people who
            look at it.
        create: whether to make what is missing: the directory (mode 0700), the file (0600) and the
            device's secret.

    Raises:
        LedgerError: if there is no such file, or it is not a sound ledger of this app.
        sqlite3.Error: if the file cannot be read.
        OSError: if it cannot be made.

    """
    if not exists(path):
        if not create or app is None:
            raise explanations.missing(path)
        new_ledger.create(path, app)
    connection = new_ledger.connect(new_ledger.uri_of(path))
    try:
        _check(connection, path, app)
        if create:
            _note_origin(connection, path)
            _renew_secret(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_copy(path: Path) -> sqlite3.Connection:
    """Open a copy in memory of the ledger at an absolute path, to read it. The file stays as it is.

    Raises:
        LedgerError: if there is no such file, or it is no sound ledger.
        sqlite3.Error: if the file cannot be read.

    """
    if not exists(path):
        raise explanations.missing(path)
    copy = new_ledger.connect(":memory:")
    try:
        with contextlib.closing(new_ledger.connect(f"{path.as_uri()}?mode=rw")) as connection:
            _check(connection, path, None)
            connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy


def _check(connection: sqlite3.Connection, path: Path, app: str | None) -> None:
    if _pragma(connection, "application_id") != new_ledger.APPLICATION_ID:
        raise explanations.damaged(path)
    if _pragma(connection, "user_version") != new_ledger.SCHEMA_VERSION:
        raise explanations.newer(path)
    if _pragma(connection, "quick_check(1)") != "ok":
        raise explanations.damaged(path)
    row = connection.execute("SELECT app, host, inode, birth, file_system FROM device").fetchone()
    if row is None:
        raise explanations.damaged(path)
    owner, machine, *evidence = row
    noted_origin = Origin(*evidence)
    if app is None:
        return
    if app != owner:
        raise explanations.foreign(path, owner, app)
    if noted_origin.contradicts(origin.of(path)) or machine not in (None, machine_id.identify(app)):
        raise explanations.copied(path)


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _note_origin(connection: sqlite3.Connection, path: Path) -> None:
    """Note those parts of the file's origin that were unknown when it was made."""
    _, birth, file_system = origin.of(path)
    known = {"birth": birth, "file_system": file_system}
    is_new = connection.execute(
        "SELECT 1 FROM device WHERE inode IS NOT NULL AND"
        " (birth IS NULL AND :birth IS NOT NULL OR file_system IS NULL AND :file_system IS NOT NULL)",
        known,
    ).fetchone()
    if is_new:
        connection.execute(
            "UPDATE device SET birth = COALESCE(birth, :birth), file_system = COALESCE(file_system, :file_system)",
            known,
        )


def _renew_secret(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT 1 FROM device WHERE secret IS NULL").fetchone():
        connection.execute(
            "UPDATE device SET secret = ?, generation = generation + 1 WHERE secret IS NULL",
            (new_ledger.draw_secret(),),
        )
