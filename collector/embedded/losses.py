"""What is missing from the embedded store's append-only files, and how to continue without it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from collector.embedded.aof import (
    BASE,
    INCREMENT,
    MANIFEST,
    increments_in,
    named_in,
    readable_bytes,
    sequence_of,
)

CHUNK_BYTES = 2**20


class Reach(NamedTuple):
    """The length of an increment that is known to be intact.

    Attributes:
        size: bytes.
        checksum: CRC-32 of these bytes. It detects accidents, not attacks.

    """

    size: int = 0
    checksum: int = 0


class DataLoss(NamedTuple):
    """Acknowledged data that is missing.

    Attributes:
        text: what is missing, and where, for people.
        can_be_left_out: whether the rest can be read without it.

    """

    text: str
    can_be_left_out: bool = True


def find_losses(folder: Path, noted: Mapping[str, Reach], noted_at_s: float) -> Iterator[DataLoss]:
    """Yield everything that is missing.

    Args:
        folder: the folder of the append-only files.
        noted: for each increment, how far it was known to be intact.
        noted_at_s: Unix seconds of that note.

    """
    try:
        files = named_in(folder)
    except FileNotFoundError:
        # a base, and an empty increment, may come from a first start that broke off
        if noted or any(file.stat().st_size for file in folder.glob("*.incr.aof")):
            text = f"{folder / MANIFEST} is missing, and without it no file is found"
            yield DataLoss(text, can_be_left_out=False)
        return
    if not files:
        yield DataLoss(f"{folder / MANIFEST} is empty, and without it no file is found", can_be_left_out=False)
    for name, kind in files:
        file = folder / name
        if kind == BASE and not (file.is_file() and file.stat().st_size):
            text = f"{name} is missing or empty; it holds everything up to the last rewrite"
            yield DataLoss(text, can_be_left_out=False)
    yield from _losses_since_the_rewrite(folder, [name for name, kind in files if kind == INCREMENT], noted, noted_at_s)


def _losses_since_the_rewrite(
    folder: Path, increments: list[str], noted: Mapping[str, Reach], noted_at_s: float
) -> Iterator[DataLoss]:
    oldest = min(map(sequence_of, increments), default=0)
    for name in increments:
        if not (folder / name).is_file():
            yield DataLoss(f"{name} is missing; it holds writes since the last rewrite")
        elif name in noted:
            yield from _shortfall(folder / name, noted[name], noted_at_s)
    for name in noted.keys() - set(increments):
        if sequence_of(name) >= oldest:  # an older increment was rewritten into the base
            yield DataLoss(f"{MANIFEST} is older than what was acknowledged: it does not list {name}")


def _shortfall(file: Path, noted: Reach, noted_at_s: float) -> Iterator[DataLoss]:
    present = extended(file, Reach(), noted.size)
    when = datetime.fromtimestamp(noted_at_s, UTC).isoformat(timespec="seconds")
    if present.size < noted.size:
        yield DataLoss(f"{shortened(file.name, present.size, noted.size)} (noted at {when})")
    elif present.checksum != noted.checksum:
        yield DataLoss(f"{file.name} is not what was written: something has changed in its first {noted.size} bytes")


def make_readable(folder: Path) -> Iterator[DataLoss]:
    """Cut what cannot be read off the end of each increment, and yield what was cut."""
    for name in increments_in(folder):
        file = folder / name
        file.touch(mode=0o600)
        size, readable = file.stat().st_size, readable_bytes(file)
        if readable < size:
            with file.open("r+b") as opened:
                opened.truncate(readable)
            yield DataLoss(f"the last {size - readable} bytes of {name} cannot be read: they are cut off")


def how_to_go_on(data_dir: Path, *, can_be_read: bool) -> str:
    """Return what an operator can do about losses in a data directory.

    Args:
        data_dir: the directory.
        can_be_read: whether the rest can be read.

    """
    if can_be_read:
        otherwise = f"to go on with what is left, run hearsay-collector accept-loss --data-dir {data_dir}"
    else:
        otherwise = (
            "otherwise import the last backup into a new data directory, because nothing in this one can be read"
        )
    return f"Bring the files back if you can; {otherwise}"


def shortened(name: str, present: int, noted: int) -> str:
    """Return for people that a file is shorter than it was noted to be, in bytes."""
    return f"{name} has {present} bytes, and {noted} were acknowledged: the last {noted - present} are missing"


def extended(file: Path, before: Reach, size: int) -> Reach:
    """Extend the reach of a file up to a size, or to its end if the file is shorter."""
    at, checksum = before
    with file.open("rb") as opened:
        opened.seek(at)
        while chunk := opened.read(min(CHUNK_BYTES, size - at)):
            checksum = zlib.crc32(chunk, checksum)
            at += len(chunk)
    return Reach(at, checksum)
