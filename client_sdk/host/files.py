"""Functions for files and folders."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def identify(path: Path) -> tuple[int, int] | None:
    """Return the device and the inode of a file; None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def rename_if_free(file: Path, path: Path) -> None:
    """Rename a file within its folder, unless another file has the new name.

    The folder is locked while the file is renamed.
    """
    with _locked(path.parent):
        if not path.exists():
            file.rename(path)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lock a folder. On Windows, no lock is needed, because renaming never replaces a file."""
    if sys.platform == "win32":
        yield
    else:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Write the names of a folder's files to disk, so that a power cut loses no name."""
    with contextlib.suppress(OSError):  # Windows cannot open directories, and needs no such step
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def app_folder(data_dir: object) -> Path | None:
    """Return the absolute path of an app's folder; None if ``data_dir`` is None.

    Raises:
        TypeError: if ``data_dir`` is neither None nor a path.
        ValueError: if the path is empty, begins with ``~``, or contains a NUL character.
    """
    if data_dir is None:
        return None
    if not isinstance(data_dir, str | PathLike):
        raise TypeError("data_dir must be the path of a folder, or None to store nothing")
    text = str(fspath(data_dir))
    if not text:  # as from an environment variable that is not set
        raise ValueError("data_dir is empty; pass the path of a folder, or None to store nothing")
    if Path(text).parts[:1] == ("~",):
        raise ValueError("data_dir begins with ~, which only shells expand; pass Path(data_dir).expanduser()")
    if "\0" in text:
        raise ValueError("data_dir contains a NUL character, which is not allowed in a path")
    return Path(data_dir).absolute()
