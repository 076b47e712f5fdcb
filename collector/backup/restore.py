"""Puts a backup into an empty store. An import that broke off is started again, and goes over what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from collector.backup.fields import LineError
from collector.backup.format import LONGEST_LINE, BackupError, Bucket, Closed, Counts, End, Header, Line, decode
from collector.backup.ports import Target

IDS_AT_ONCE = 2**19
"""So many remembered uploads are sorted by shard together, so that few steps put many of them."""


class Backup(NamedTuple):
    """What is in a backup that was read to its end.

    Attributes:
        header: of what store it is.
        ids: how many remembered uploads it holds; one that came while it was made may be counted twice here.
        tallies: how many tallies it holds.
        digest: names it.

    """

    header: Header
    ids: int
    tallies: int
    digest: str


def read_backup(path: Path) -> Iterator[Line]:
    """Yield the lines of a backup, each once it is known to be sound.

    Raises:
        BackupError: naming the line that is damaged, or saying that the file is cut or cannot be read.

    """
    reading = _Reading()
    try:
        with path.open("rb") as file:
            while raw := file.readline(LONGEST_LINE):
                yield reading.take(raw)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}") from error
    except LineError as error:
        raise BackupError(f"{path} is no sound backup: line {reading.number} {error}") from error
    if not isinstance(reading.line, End):
        raise BackupError(f"{path} is cut: line {reading.number}, the last one, is not the end of a backup")


class _Reading:
    """A backup while it is read.

    Attributes:
        number: of the line that was read last, from 1.
        line: that line, if it is sound.

    """

    def __init__(self) -> None:
        self.number = 0
        self.line: Line | None = None
        self._digest = sha256()

    def take(self, raw: bytes) -> Line:
        """Return the next line.

        Raises:
            LineError: if it is damaged, or must not stand here.

        """
        before, self.line, self.number = self.line, None, self.number + 1
        if isinstance(before, End):
            raise LineError("stands after the end")
        line = decode(raw)
        if isinstance(line, Header) != (before is None):
            raise LineError("should be the header" if before is None else "is a second header")
        if isinstance(line, End) and line != End(self.number - 1, self._digest.hexdigest()):
            raise LineError("does not fit what stands before it: a line was changed, or is missing")
        self._digest.update(raw)
        self.line = line
        return line


def check(path: Path) -> Backup:
    """Read a backup to its end, and say what is in it.

    Raises:
        BackupError: as `read_backup`.

    """
    header, digest, ids, tallies = Header(0, 1, None, None), "", 0, 0
    for line in read_backup(path):
        if isinstance(line, Header):
            header = line
        elif isinstance(line, End):
            digest = line.sha256
        elif isinstance(line, Bucket):
            ids += len(line.members)
        elif isinstance(line, Counts):
            tallies += 1
    return Backup(header, ids, tallies, digest)


def restore(path: Path, backup: Backup, target: Target, on_ids: Callable[[int], None]) -> bool:
    """Put a backup into a store.

    Args:
        path: the file.
        backup: what `check` found in it.
        target: an empty store, or one into which the import of the same backup was begun.
        on_ids: told of so many more uploads whenever some are put.

    Returns:
        Whether anything was to be done: false if the store had the whole of it before.

    Raises:
        ConfigError: if the store holds anything else, or a collector counts in it.
        BackupError: if the file has changed since it was checked.

    """
    if not target.begin(backup.digest):
        return False
    waiting: list[Bucket] = []
    ids = 0
    tallies: set[str] = set()
    for line in read_backup(path):
        if isinstance(line, Bucket):
            waiting.append(line)
            ids += len(line.members)
        if ids >= IDS_AT_ONCE or not isinstance(line, Bucket):  # tallies come when all ids are there
            target.remember(waiting)
            on_ids(ids)
            waiting, ids = [], 0
        if isinstance(line, Closed):
            target.close_all(line.windows)
        elif isinstance(line, Counts):
            target.put(line)
            tallies.add(line.name)
        elif isinstance(line, End) and line.sha256 != backup.digest:
            raise BackupError(f"{path} has changed while it was imported; import the first one again")
    target.finish(backup.digest, backup.header.grace_s, tallies)
    return True
