"""How far the embedded store's file is known to hold what was acknowledged: noted beside it, about once a second.

A server takes a file that ends early for one whose last write was under way when the power went, and cannot tell when
more is gone, or when bytes in the middle have changed. The mark can, up to where it was noted: how long each increment
was by then, and a checksum of that.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from collector.atomic_file import whole_file
from collector.embedded.aof import (
    BASE,
    INCREMENT,
    MANIFEST,
    STORE_DIR,
    increments_in,
    named_in,
    readable_bytes,
    sequence_of,
)
from collector.errors import ConfigError

MARK_FILE = "store.mark"

CHUNK_BYTES = 2**20


class UnnotedError(ConfigError):
    """The mark cannot be written: what is acknowledged is kept as before, but a loss of it might not be seen."""


class Reach(NamedTuple):
    """How far an increment goes.

    Attributes:
        size: bytes.
        checksum: CRC-32 of these; it is there for accidents, not against attackers.

    """

    size: int = 0
    checksum: int = 0


class Loss(NamedTuple):
    """Something acknowledged that is not there any more.

    Attributes:
        text: what is missing, and where.
        can_be_left_out: whether the rest can be read without it.

    """

    text: str
    can_be_left_out: bool = True


class Mark:
    """The mark of one data directory. One thread at a time."""

    def __init__(self, data_dir: Path) -> None:
        """Name the directory; nothing is read before the first use."""
        self._file = data_dir / MARK_FILE
        self._folder = data_dir / STORE_DIR
        self._noted: dict[str, Reach] = {}

    def require_kept(self) -> None:
        """Refuse files that hold less than was acknowledged, or something else.

        Raises:
            ConfigError: saying what is missing, and how to go on.

        """
        losses = list(self._losses())
        if losses:
            raise self._refusal(losses)
        self._noted = self._read()

    def accept_losses(self) -> list[str]:
        """Make the files such that the rest can be read, and return what is lost.

        Raises:
            ConfigError: if there is no rest.

        """
        losses = list(self._losses())
        if not all(loss.can_be_left_out for loss in losses):
            raise self._refusal(losses)
        if (self._folder / MANIFEST).exists():
            losses += self._made_readable()
        self._noted = {}
        self._file.unlink(missing_ok=True)
        return [loss.text for loss in losses]

    def sizes(self) -> dict[str, int]:
        """Return how long each increment is now; what is noted of it must be known to be on disk."""
        try:
            return {name: (self._folder / name).stat().st_size for name in increments_in(self._folder)}
        except FileNotFoundError:  # the server has just rewritten them
            return {}

    def note(self, sizes: Mapping[str, int]) -> None:
        """Put down how far the increments go.

        Args:
            sizes: bytes that are on disk and acknowledged, by increment.

        Raises:
            UnnotedError: if the mark cannot be written.
            ConfigError: if an increment has become shorter.

        """
        noted = {}
        for name, size in sizes.items():
            before = self._noted.get(name, Reach())
            if size < before.size:
                raise ConfigError(_shortened(name, size, before.size))
            with contextlib.suppress(FileNotFoundError):  # as above
                noted[name] = _extended(self._folder / name, before, size)
        if noted and noted != self._noted:
            try:
                with whole_file(self._file) as file:
                    file.write(json.dumps(noted).encode())
            except ConfigError as error:
                raise UnnotedError(str(error)) from error
            self._noted = noted

    def _refusal(self, losses: list[Loss]) -> ConfigError:
        missing = "; ".join(loss.text for loss in losses)
        can_be_read = all(loss.can_be_left_out for loss in losses)
        return ConfigError(
            f"a part of what was acknowledged is lost: {missing}. "
            + how_to_go_on(self._file.parent, can_be_read=can_be_read)
        )

    def _losses(self) -> Iterator[Loss]:
        """Yield what is not there any more."""
        noted = self._read()
        try:
            files = named_in(self._folder)
        except FileNotFoundError:
            if noted or any(self._folder.glob("*.incr.aof")):  # a base alone may be that of a first start
                text = f"{self._folder / MANIFEST} is missing, and without it nothing is found"
                yield Loss(text, can_be_left_out=False)
            return
        if not files:
            yield Loss(f"{self._folder / MANIFEST} is empty, and without it nothing is found", can_be_left_out=False)
        for name, kind in files:
            file = self._folder / name
            if kind == BASE and not (file.is_file() and file.stat().st_size):
                text = f"{name} is missing or empty, which holds everything up to the last rewrite"
                yield Loss(text, can_be_left_out=False)
        yield from self._losses_since_the_rewrite([name for name, kind in files if kind == INCREMENT], noted)

    def _losses_since_the_rewrite(self, increments: list[str], noted: Mapping[str, Reach]) -> Iterator[Loss]:
        oldest = min(map(sequence_of, increments), default=0)
        for name in increments:
            if not (self._folder / name).is_file():
                yield Loss(f"{name} is missing, which holds writes since the last rewrite")
            elif name in noted:
                yield from self._shortfall(name, noted[name])
        for name in noted.keys() - set(increments):
            if sequence_of(name) >= oldest:  # an older one was rewritten: the base has it
                yield Loss(f"{MANIFEST} is older than what was acknowledged: it does not know of {name}")

    def _shortfall(self, name: str, noted: Reach) -> Iterator[Loss]:
        found = _extended(self._folder / name, Reach(), noted.size)
        when = datetime.fromtimestamp(self._file.stat().st_mtime, UTC).isoformat(timespec="seconds")
        if found.size < noted.size:
            yield Loss(f"{_shortened(name, found.size, noted.size)} (noted at {when})")
        elif found.checksum != noted.checksum:
            yield Loss(f"{name} is not what was written: something has changed in its first {noted.size} bytes")

    def _made_readable(self) -> Iterator[Loss]:
        """Cut what cannot be read off the end of each increment, and yield what that was."""
        for name in increments_in(self._folder):
            file = self._folder / name
            file.touch(mode=0o600)
            size, readable = file.stat().st_size, readable_bytes(file)
            if readable < size:
                with file.open("r+b") as opened:
                    opened.truncate(readable)
                yield Loss(f"the last {size - readable} bytes of {name} cannot be read: they are cut off")

    def _read(self) -> dict[str, Reach]:
        try:
            noted = json.loads(self._file.read_bytes())
            return {name: Reach(int(size), int(checksum)) for name, (size, checksum) in noted.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"{self._file}, which tells how much was acknowledged, cannot be read: bring it back, or remove it to "
                "go on without a look at what may be missing"
            ) from error


def how_to_go_on(data_dir: Path, *, can_be_read: bool) -> str:
    """Return what an operator can do about losses in a data directory, of which the rest can be read or not."""
    if can_be_read:
        otherwise = f"to go on with what is left, run hearsay-collector accept-loss --data-dir {data_dir}"
    else:
        otherwise = "else import the last backup into a new data directory, for nothing can be read of this one"
    return f"Bring the files back if you can; {otherwise}"


def _shortened(name: str, found: int, noted: int) -> str:
    return f"{name} has {found} bytes, and {noted} were acknowledged: the last {noted - found} are missing"


def _extended(file: Path, before: Reach, size: int) -> Reach:
    """Return the reach of a file up to a size, or to its end if that is before."""
    at, checksum = before
    with file.open("rb") as opened:
        opened.seek(at)
        while chunk := opened.read(min(CHUNK_BYTES, size - at)):
            checksum = zlib.crc32(chunk, checksum)
            at += len(chunk)
    return Reach(at, checksum)
