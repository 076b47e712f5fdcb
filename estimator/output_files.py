"""Writing of output files. Each file is replaced in one step, so readers never see half a report.

Files that Hearsay has not written, such as a user's notes, are never replaced.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from client_sdk.protocol.command_line import replaces_another_kind
from estimator.errors import OutputError
from estimator.formats.tables import COLUMNS

_HEADS: Final = re.compile(
    rb"\s*<!doctype html>.*?<title>[^<]*[Tt]elemetry report"  # a page of a report or of an archive
    rb'|\{\n  "schema": \d'  # a report, an index or a model
    rb"|PAR1"
    rb"|# HELP hearsay_"  # OpenMetrics
    rb"|" + ",".join(COLUMNS[:3]).encode() + rb"|Nothing to report"
    rb"|.*\bestimate\s+\xc2\xb1",  # a table
    re.DOTALL,
)


PART: Final = ".part"
"""The suffix of an unfinished file."""


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file in one step, or create it. Symbolic links are followed.

    Raise `OutputError` if the file cannot be written. If the file existed before, it then remains
    unchanged.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            # a rename would turn a device file such as /dev/null into a regular file
            raise OutputError(f"{path} is not a file; name a file that may be replaced")
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
        try:
            write_through(part, content)
            part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink()
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder that may be written to"
        ) from error


def replace_file(path: Path, text: str) -> bool:
    """Write a file in one step if the text has changed. Return whether the file was written."""
    content = text.encode()
    with suppress(OSError):
        if path.read_bytes() == content:
            return False
    write_whole(path, content)
    return True


def remove_parts(folder: Path) -> None:
    """Remove unfinished files of killed runs. No other run may be writing to the folder.

    Raise `OSError` if a file cannot be removed.
    """
    for left in folder.glob(f".*{PART}"):
        left.unlink()


def write_through(path: Path, content: bytes) -> None:
    """Write a new file and wait until it is on the disk.

    Raise `OSError` if the file exists or cannot be written.
    """
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def is_not_ours(path: Path) -> bool:
    """Return whether the path is an existing file that Hearsay has not written."""
    return replaces_another_kind(path, lambda head: _HEADS.match(head) is not None)
