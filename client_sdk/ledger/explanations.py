"""Error messages about a ledger's file, with advice."""

from __future__ import annotations

from pathlib import Path

from client_sdk.results import LedgerBusyError, LedgerError


def explain(error: BaseException, path: Path | None) -> LedgerError:
    """Turn any error into a `LedgerError` that states the problem and gives advice."""
    if isinstance(error, LedgerError):
        return error
    name = path or "the ledger in memory"
    if isinstance(error, OSError):
        return LedgerError(f"{name} cannot be used: {error.strerror}; name a writable folder")
    if hasattr(error, "sqlite_errorcode"):
        import sqlite3  # noqa: PLC0415 importing the SDK must stay quick

        code = error.sqlite_errorcode & 0xFF  # the low byte of an extended error code is the primary code
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusyError(f"{name} is in use by another process; try again")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return damaged(path)
        if code == sqlite3.SQLITE_FULL:
            return LedgerError(f"{name} cannot grow because the disk is full; free some space")
    what = getattr(error, "sqlite_errorname", type(error).__name__)
    return LedgerError(f"{name} cannot be used ({what}); allow this program to write the file and its folder")


def missing(path: Path) -> LedgerError:
    """Return the error for a missing file."""
    return LedgerError(f"there is no ledger at {path}; nothing has been recorded there")


def of_node(folder: Path) -> LedgerError:
    """Return the error for a folder that contains the ledger of a Node app."""
    return LedgerError(
        f"{folder} has the ledger of an app for Node, which only that app can read: let it print history() and "
        "budget() of its Telemetry, or call forget()"
    )


def damaged(path: Path | None) -> LedgerError:
    """Return the error for a file that is not a valid ledger."""
    return LedgerError(
        f"{path} is damaged or not a ledger, so nothing is recorded; restore the file, or delete it by hand, which "
        "also deletes the record of the spent budget"
    )


def newer(path: Path) -> LedgerError:
    """Return the error for a file from a newer version of the SDK."""
    return LedgerError(f"{path} was written by a newer version and was not changed; update the app")


def foreign(path: Path, owner: str, app: str) -> LedgerError:
    """Return the error for a file that belongs to another app."""
    return LedgerError(f"{path} is the ledger of the app {owner!r}, not {app!r}; give each app its own data_dir")


def copied(path: Path) -> LedgerError:
    """Return the error for a ledger that was copied from another place."""
    return LedgerError(
        f"{path} is a copied or restored ledger, or this machine's id can no longer be read; nothing is recorded, "
        "because a copy would spend the same budget again; put the original back, let this program read the id, or "
        "delete the file by hand, which also deletes the record of the spent budget"
    )


def inherited(path: Path) -> LedgerError:
    """Return the error for a child process whose parent had the file open during the fork."""
    return LedgerError(f"{path} was open when this process was forked; start processes with spawn instead of fork")


def in_memory() -> LedgerError:
    """Return the error for a child process whose parent has its ledger in memory."""
    return LedgerError("a ledger in memory belongs to one process; pass data_dir to record in child processes")
