"""The append-only files of a Redis or Valkey server, as its manifest lists them.

The base holds everything up to the last rewrite and has a checksum of its own. Increments hold
every write since then and have none. The server treats some missing or empty files as if nothing
had ever been written, so check them before it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

STORE_DIR = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"

BASE, INCREMENT = "b", "i"
"""Types of files in a manifest. There is also a type for old files."""

_SEQUENCE = re.compile(r"\.(\d+)\.incr\.aof")
_LENGTH = re.compile(rb"[*$](\d{1,9})\r\n")
_LONGEST_LENGTH = 12


class ManifestEntry(NamedTuple):
    """A file that a manifest lists.

    Attributes:
        name: the file's name.
        kind: BASE, INCREMENT, or another type.

    """

    name: str
    kind: str


def named_in(folder: Path) -> list[ManifestEntry]:
    """Return the files that a folder's manifest lists, in the order in which they were written.

    Raises:
        OSError: if there is no manifest, or it cannot be read.

    """
    lines = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
    words = [line.split() for line in lines]
    fields = [dict(zip(line[::2], line[1::2], strict=False)) for line in words]
    return [ManifestEntry(line["file"], line.get("type", "")) for line in fields if "file" in line]


def increments_in(folder: Path) -> list[str]:
    """Return the names of the increments, in the order in which they were written.

    Raises:
        OSError: if there is no manifest, or it cannot be read.

    """
    return [file.name for file in named_in(folder) if file.kind == INCREMENT]


def sequence_of(increment: str) -> int:
    """Return the increment's sequence number from its file name; 0 if the name has none."""
    match = _SEQUENCE.search(increment)
    return int(match[1]) if match else 0


def readable_bytes(increment: Path) -> int:
    """Return how many bytes at the start of a file are complete commands and transactions."""
    readable, is_open = 0, False
    with increment.open("rb") as file:
        for command in _commands(file):
            is_open = {b"MULTI": True, b"EXEC": False}.get(command.upper(), is_open)
            if not is_open:
                readable = file.tell()
    return readable


def _commands(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the name of each command, up to the first that is incomplete or not a command."""
    while count := _length(file, b"*"):
        words = []
        for _ in range(count):
            length = _length(file, b"$")
            word = file.read(length or 0)
            if length is None or len(word) < length or file.read(2) != b"\r\n":
                return
            words.append(word)
        yield words[0]


def _length(file: IO[bytes], kind: bytes) -> int | None:
    line = file.readline(_LONGEST_LENGTH)
    match = _LENGTH.fullmatch(line)
    return int(match[1]) if match and line.startswith(kind) else None
