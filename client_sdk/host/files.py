"""What a file system says of names: which file has one, who takes a free one, and for how long."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def identify(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def rename_if_free(file: Path, path: Path) -> None:
    """Give a file another name in its folder, unless that is taken, as one process at a time."""
    with _locked(path.parent):
        if not path.exists():
            file.rename(path)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold a lock that ends with this process. Windows needs none: its rename replaces no file."""
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
    """Make the names in a folder durable."""
    with contextlib.suppress(OSError):  # Windows opens no directories and needs no such step
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
