"""Files that are replaced atomically, and shared files that have no name in any folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from client_sdk.protocol.command_line import NO_ROOM
from collector.errors import ConfigError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` on disk if the ``with`` block ends without an error.

    Only the owner can read the new file. If `path` is a symbolic link, the link remains and its
    target is replaced.

    Raises:
        ConfigError: if the file cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():  # a rename would replace a device with a file
        raise ConfigError(f"{path} is not a file; name one that may be overwritten")
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as file:
            try:
                yield file.file
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(target)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        _put_on_disk(target.parent)
    except OSError as error:
        advice = "free space on its disk; " if error.errno in NO_ROOM else ""
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}; {advice}its previous content is unchanged"
        ) from error


def _put_on_disk(folder: Path) -> None:
    """Sync a folder to disk, so that renamed files keep their new names after a crash."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def unlinked_file() -> int:
    """Return the descriptor of a new, empty file without a name.

    Raises:
        ConfigError: if no file can be created.
    """
    try:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise ConfigError(
            f"a temporary file cannot be created: {error.strerror}; set TMPDIR to another folder"
        ) from error
