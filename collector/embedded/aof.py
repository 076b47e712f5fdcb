"""Reads the append-only files of a Redis or Valkey server, and detects missing data in them.

The manifest lists the files. The base file contains everything up to the last rewrite, and has a
checksum. Increment files contain every later write, without a checksum. The server does not notice
if some of these files are missing or empty. Therefore the collector checks the files before the
server starts.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple

from collector.errors import in_units

STORE_DIR = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"

BASE, INCREMENT = "b", "i"
"""The types of the files that the server still needs, as written in a manifest."""

_SEQUENCE = re.compile(r"\.(\d+)\.incr\.aof")
_LENGTH = re.compile(rb"[*$](\d{1,9})\r\n")
_LONGEST_LENGTH = 12

CHUNK_BYTES = 2**20


def named_in(folder: Path) -> list[tuple[str, str]]:
    """Return the name and type of each file that a folder's manifest lists, in order of writing.

    Raises:
        OSError: if there is no readable manifest.
    """
    lines = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
    words = [line.split() for line in lines]
    fields = [dict(zip(line[::2], line[1::2], strict=False)) for line in words]
    return [(line["file"], line.get("type", "")) for line in fields if "file" in line]


def increments_in(folder: Path) -> list[str]:
    """Return the names of the increment files, in the order of writing.

    Raises:
        OSError: if there is no readable manifest.
    """
    return [name for name, kind in named_in(folder) if kind == INCREMENT]


def sequence_of(increment: str) -> int:
    """Return the sequence number in an increment file's name, or 0 if the name has no number."""
    match = _SEQUENCE.search(increment)
    return int(match[1]) if match else 0


def readable_bytes(increment: Path) -> int:
    """Return the number of bytes of complete commands and transactions at the start of a file."""
    readable, is_open = 0, False
    with increment.open("rb") as file:
        for command in _commands(file):
            is_open = {b"MULTI": True, b"EXEC": False}.get(command.upper(), is_open)
            if not is_open:
                readable = file.tell()
    return readable


def _commands(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the name of each command, up to the first incomplete or invalid command."""
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


class Reach(NamedTuple):
    """The part of an increment file, from the file's start, that is known to be intact.

    Attributes:
        size: the length of this part in bytes.
        checksum: the CRC-32 of this part, which detects accidental changes but not attacks.
    """

    size: int = 0
    checksum: int = 0


class DataLoss(NamedTuple):
    """Acknowledged data that is missing.

    Attributes:
        text: a sentence for people that names the missing data and its place.
        can_be_left_out: whether the remaining data can be read without the missing data.
    """

    text: str
    can_be_left_out: bool = True


def find_losses(folder: Path, noted: Mapping[str, Reach], noted_at_s: float) -> Iterator[DataLoss]:
    """Yield a description of each loss of acknowledged data.

    ``noted`` maps the name of each increment file to the part that was intact at ``noted_at_s``
    (Unix seconds), the time when the mark was written (see `high_water_mark`).
    """
    try:
        files = named_in(folder)
    except FileNotFoundError:
        # an interrupted first start may leave a base and an empty increment
        if noted or any(file.stat().st_size for file in folder.glob("*.incr.aof")):
            text = f"{folder / MANIFEST} is missing, and without it the store's files cannot be found"
            yield DataLoss(text, can_be_left_out=False)
        return
    if not files:
        yield DataLoss(
            f"{folder / MANIFEST} is empty, and without it the store's files cannot be found", can_be_left_out=False
        )
    for name, kind in files:
        file = folder / name
        if kind == BASE and not (file.is_file() and file.stat().st_size):
            text = f"{name} is missing or empty; it contained everything up to the last rewrite"
            yield DataLoss(text, can_be_left_out=False)
    yield from _losses_since_the_rewrite(folder, [name for name, kind in files if kind == INCREMENT], noted, noted_at_s)


def _losses_since_the_rewrite(
    folder: Path, increments: list[str], noted: Mapping[str, Reach], noted_at_s: float
) -> Iterator[DataLoss]:
    oldest = min(map(sequence_of, increments), default=0)
    for name in increments:
        if not (folder / name).is_file():
            yield DataLoss(f"{name} is missing; it contained the writes since the last rewrite")
        elif name in noted:
            yield from _shortfall(folder / name, noted[name], noted_at_s)
    for name in noted.keys() - set(increments):
        if sequence_of(name) >= oldest:  # older increments were rewritten into the base
            yield DataLoss(f"{MANIFEST} is older than the last acknowledged write: it does not list {name}")


def _shortfall(file: Path, noted: Reach, noted_at_s: float) -> Iterator[DataLoss]:
    present = extended(file, Reach(), noted.size)
    when = datetime.fromtimestamp(noted_at_s, UTC).isoformat(timespec="seconds")
    if present.size < noted.size:
        yield DataLoss(f"{shortened(file.name, present.size, noted.size)} (recorded at {when})")
    elif present.checksum != noted.checksum:
        yield DataLoss(f"{file.name} was changed after it was written, within its first {in_units(noted.size)}")


def make_readable(folder: Path) -> Iterator[DataLoss]:
    """Cut off the unreadable end of each increment file. Yield descriptions of the lost data."""
    for name in increments_in(folder):
        file = folder / name
        file.touch(mode=0o600)
        present, readable = file.stat().st_size, readable_bytes(file)
        if readable < present:
            with file.open("r+b") as opened:
                opened.truncate(readable)
            yield DataLoss(f"{in_units(present - readable)} at the end of {name} were unreadable and have been cut off")


def how_to_go_on(data_dir: Path, *, can_be_read: bool) -> str:
    """Return instructions for the operator of a data directory in which data is missing."""
    if can_be_read:
        otherwise = f"to continue with the readable part, run hearsay-collector store accept-loss --data-dir {data_dir}"
    else:
        otherwise = (
            "otherwise import the latest backup into a new data directory: nothing in the damaged directory can be read"
        )
    return f"Restore the files if you can; {otherwise}"


def shortened(name: str, present: int, noted: int) -> str:
    """Return the message for a file with only ``present`` of its ``noted`` acknowledged bytes."""
    return f"{name} lacks the last {in_units(noted - present)} of the {in_units(noted)} that were acknowledged"


def extended(file: Path, before: Reach, size: int) -> Reach:
    """Return the `Reach` of the first ``size`` bytes of a file, or of a whole file that is shorter.

    ``before`` is the `Reach` of the bytes that were read earlier. These bytes are not read again.
    """
    at, checksum = before
    with file.open("rb") as opened:
        opened.seek(at)
        while chunk := opened.read(min(CHUNK_BYTES, size - at)):
            checksum = zlib.crc32(chunk, checksum)
            at += len(chunk)
    return Reach(at, checksum)
