"""What is wrong with a ledger's file, and what to do: sentences for people."""

from __future__ import annotations

from pathlib import Path

from client_sdk.results import LedgerBusyError, LedgerError


def explain(error: BaseException, path: Path | None) -> LedgerError:
    """Return the error to show: a sentence that says what is wrong and what to do."""
    if isinstance(error, LedgerError):
        return error
    name = path or "the ledger in memory"
    if isinstance(error, OSError):
        return LedgerError(f"{name} cannot be used: {error.strerror}; name a directory that this program may write")
    if hasattr(error, "sqlite_errorcode"):
        import sqlite3  # noqa: PLC0415 importing the SDK must stay quick

        code = error.sqlite_errorcode & 0xFF  # the rest of an extended code is detail
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusyError(f"{name} is in use by another process; try again")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return damaged(path)
        if code == sqlite3.SQLITE_FULL:
            return LedgerError(f"{name} cannot grow: the disk is full; free some space")
    what = getattr(error, "sqlite_errorname", type(error).__name__)
    return LedgerError(
        f"{name} cannot be used ({what}); give this program the right to write the file and its directory"
    )


def missing(path: Path) -> LedgerError:
    """Return the error of a file that is not there."""
    return LedgerError(f"there is no ledger at {path}; nothing was ever recorded there")


def damaged(path: Path | None) -> LedgerError:
    """Return the error of a file that is no sound ledger."""
    return LedgerError(
        f"{path} is damaged or is no ledger; it is left unchanged and nothing is recorded: restore it, or delete it by "
        "hand, which also forgets what was spent"
    )


def newer(path: Path) -> LedgerError:
    """Return the error of a file with a schema that this version does not know."""
    return LedgerError(f"{path} was written by a newer version; it is left unchanged: update the app")


def foreign(path: Path, owner: str, app: str) -> LedgerError:
    """Return the error of a file that belongs to another app."""
    return LedgerError(f"{path} is the ledger of the app {owner!r}, not {app!r}; give each app its own data_dir")


def copied(path: Path) -> LedgerError:
    """Return the error of a file that was made elsewhere."""
    return LedgerError(
        f"{path} is a copy of a ledger, restored or brought from elsewhere, or this machine's id can no longer be "
        "read; a copy would spend the same budget again, so that nothing is recorded: put the original back, let "
        "this program read the id, or delete it by hand, which also forgets what was spent"
    )


def inherited(path: Path) -> LedgerError:
    """Return the error of a file that was open during a fork."""
    return LedgerError(f"{path} was open while this process was forked; start processes by spawn instead of fork")


def in_memory() -> LedgerError:
    """Return the error of a ledger in memory that a child process would need."""
    return LedgerError("a ledger in memory stays with its process; give data_dir to record in child processes")
