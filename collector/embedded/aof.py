"""The files that a Redis or Valkey server appends to, as its manifest names them.

A base holds what was there at the last rewrite, with a checksum of its own; increments hold every write since, and have
none. The server takes some files that are missing or empty for nothing that was ever written: so look before it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

STORE_DIR = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"

BASE, INCREMENT = "b", "i"
"""Types of files in a manifest; there are files that are history, too."""

_SEQUENCE = re.compile(r"\.(\d+)\.incr\.aof")
_LENGTH = re.compile(rb"[*$](\d{1,9})\r\n")
_LONGEST_LENGTH = 12


class Named(NamedTuple):
    """A file that a manifest names.

    Attributes:
        name: of the file.
        kind: BASE, INCREMENT, or another.

    """

    name: str
    kind: str


def named_in(folder: Path) -> list[Named]:
    """Return the files that a folder's manifest names, in the order of writing.

    Raises:
        OSError: if there is none, or it cannot be read.

    """
    lines = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
    words = [line.split() for line in lines]
    fields = [dict(zip(line[::2], line[1::2], strict=False)) for line in words]
    return [Named(line["file"], line.get("type", "")) for line in fields if "file" in line]


def increments_in(folder: Path) -> list[str]:
    """Return the names of the increments, in the order of writing.

    Raises:
        OSError: as `named_in`.

    """
    return [file.name for file in named_in(folder) if file.kind == INCREMENT]


def sequence_of(increment: str) -> int:
    """Return the how manieth increment it is, by its name; 0 if it has another."""
    found = _SEQUENCE.search(increment)
    return int(found[1]) if found else 0


def readable_bytes(increment: Path) -> int:
    """Return how many bytes from the beginning are whole commands, and whole transactions of them."""
    readable, is_open = 0, False
    with increment.open("rb") as file:
        for command in _commands(file):
            is_open = {b"MULTI": True, b"EXEC": False}.get(command.upper(), is_open)
            if not is_open:
                readable = file.tell()
    return readable


def _commands(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the name of each whole command, until one is broken off or something else follows."""
    while words := _length(file, b"*"):
        read = []
        for _ in range(words):
            length = _length(file, b"$")
            word = file.read(length or 0)
            if length is None or len(word) < length or file.read(2) != b"\r\n":
                return
            read.append(word)
        yield read[0]


def _length(file: IO[bytes], kind: bytes) -> int | None:
    line = file.readline(_LONGEST_LENGTH)
    found = _LENGTH.fullmatch(line)
    return int(found[1]) if found and line.startswith(kind) else None
