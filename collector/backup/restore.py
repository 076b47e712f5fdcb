"""Restores a backup into an empty store.

The whole backup is checked before anything is written. An interrupted import starts again from the
beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from client_sdk.protocol.registry.registry import Registry
from collector.backup.lines import (
    LONGEST_LINE,
    BackupError,
    BackupLine,
    Bucket,
    ClosedWindows,
    Editions,
    End,
    Header,
    LineError,
    TallyLine,
    decode,
)
from collector.backup.store_filler import Demand, StoreFiller
from collector.store.store_protocol import OwnEditions

IDS_AT_ONCE = 2**19
"""The number of remembered uploads that are grouped by shard and written together.

A smaller number would cause many small writes.
"""

MADE_UP = (
    "the file was changed, or comes from another store: take the backup again, or import another one. "
    "Nothing was written"
)


class Backup(NamedTuple):
    """A description of the contents of a backup.

    Attributes:
        ids: the number of remembered uploads. Uploads that arrived during the export may be
            included twice in this number.
        digest: the SHA-256 digest that identifies the backup, in hex.
        demand: the memory that the restored backup needs.
    """

    header: Header
    ids: int
    tallies: int
    digest: str
    demand: Demand


def read_backup(path: Path) -> Iterator[BackupLine]:
    """Check each line of a backup, and yield it.

    Raises:
        BackupError: if a line is damaged, or the file is truncated or cannot be read.
    """
    reading = _Reading()
    try:
        with path.open("rb") as file:
            while raw := file.readline(LONGEST_LINE):
                yield reading.take(raw)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}") from error
    except LineError as error:
        raise BackupError(f"{path} is not a valid backup: line {reading.number} {error}") from error
    if not isinstance(reading.line, End):
        raise BackupError(f"{path} is incomplete: its last line, {reading.number}, is not the end of a backup")


class _Reading:
    """The progress of reading a backup.

    Attributes:
        number: the number of the latest line, counted from 1.
        line: the latest line. None after a damaged line, and before the first line.
    """

    def __init__(self) -> None:
        self.number = 0
        self.line: BackupLine | None = None
        self._digest = sha256()

    def take(self, raw: bytes) -> BackupLine:
        """Check and parse the next line, or raise a LineError."""
        before, self.line, self.number = self.line, None, self.number + 1
        if isinstance(before, End):
            raise LineError("follows the end of the backup")
        line = decode(raw)
        if isinstance(line, Header) != (before is None):
            raise LineError("should be the header" if before is None else "is a second header")
        if isinstance(line, End) and line != End(self.number - 1, self._digest.hexdigest()):
            raise LineError("does not match the lines before it: a line was changed or is missing")
        self._digest.update(raw)
        self.line = line
        return line


def check(path: Path, registry: Registry | None = None) -> Backup:
    """Check a whole backup, and return a description of its contents.

    If a registry is given, the backup's tallies must agree with it. The backup may contain editions
    that the registry does not define.

    Raises:
        BackupError: if the file is truncated, cannot be read, or is not a regular file. Also raised
            if a line is damaged, or contradicts other lines or the registry.
    """
    if path.exists() and not path.is_file():
        raise BackupError(
            f"{path} is not a regular file, and the import reads the backup twice: save it to a file first"
        )
    header, digest, ids, tallies = Header(0, 1, None, None), "", 0, 0
    demand, alphabets, own = Demand(), Alphabets(registry), dict[str, str]()
    for number, line in enumerate(read_backup(path), 1):
        demand.add(number, line)
        if isinstance(line, Header):
            header = line
        elif isinstance(line, End):
            digest = line.sha256
        elif isinstance(line, Bucket):
            ids += len(line.members)
        elif isinstance(line, Editions):
            own |= line.own
        elif isinstance(line, TallyLine):
            tallies += 1
            alphabets.add(number, line)
    alphabets.require_same_in_strata(own)
    return Backup(header, ids, tallies, digest, demand)


def restore(path: Path, backup: Backup, filler: StoreFiller, on_ids: Callable[[int], None]) -> bool:
    """Restore a backup into a store.

    Args:
        path: the file that contains the backup.
        backup: the description that `check` returned for the file.
        filler: fills an empty store, or continues an interrupted import of the same backup.
        on_ids: called with the number of uploads that were just written.

    Returns:
        Whether the store was changed. False if the store already contained the whole backup.

    Raises:
        ConfigError: if the store contains anything other than parts of this backup.
        BackupError: if the file has changed since `check`.
    """
    if not filler.begin(backup.digest):
        return False
    waiting: list[Bucket] = []
    ids = 0
    tallies: set[str] = set()
    for line in read_backup(path):
        if isinstance(line, Bucket):
            waiting.append(line)
            ids += len(line.members)
        if ids >= IDS_AT_ONCE or not isinstance(line, Bucket):
            # all ids must be in the store before the tallies
            filler.remember(waiting)
            on_ids(ids)
            waiting, ids = [], 0
        if isinstance(line, ClosedWindows):
            filler.close_all(line.windows)
        elif isinstance(line, Editions):
            filler.store.remember_editions(line.own)  # before `put` makes tallies readable
        elif isinstance(line, TallyLine):
            filler.put(line)
            tallies.add(line.name)
        elif isinstance(line, End) and line.sha256 != backup.digest:
            raise BackupError(f"{path} changed during the import; import the original version again")
    filler.finish(backup.digest, backup.header.grace_s, tallies)
    return True


class Alphabets:
    """Checks that the lines of a backup agree on the number of symbols of each edition.

    All strata of a metric must have the same number of symbols. Otherwise, readers could not add up
    the tallies.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        """Store the numbers of symbols that the registry defines."""
        metrics = () if registry is None else registry.counted
        self._defined = {
            (metric.name, edition): metric.channel.symbols for metric in metrics for edition in metric.editions
        }
        self._named: dict[tuple[str, str], tuple[int, int]] = {}
        self._lines: dict[str, int] = {}

    def add(self, number: int, tally: TallyLine) -> None:
        """Check the tally in line ``number`` against the earlier lines and the registry.

        Raises:
            BackupError: if the tally is repeated, or if its number of symbols differs from that of
                the registry or of an earlier tally of the same edition.
        """
        before = self._lines.setdefault(tally.name, number)
        if before != number:
            raise BackupError(f"line {number} repeats the tally of line {before}: {MADE_UP}")
        edition = tally.metric, tally.edition
        defined = self._defined.get(edition, tally.symbols)
        if tally.symbols != defined:
            raise BackupError(
                f"line {number}: the tally of metric.{tally.metric} has {tally.symbols:,} symbols, but {defined:,} "
                f"according to the registry: {MADE_UP}"
            )
        self._require_same(edition, number, tally.symbols)

    def require_same_in_strata(self, own: OwnEditions) -> None:
        """Raise a BackupError if strata of a metric have different numbers of symbols."""
        for (metric, edition), (number, symbols) in list(self._named.items()):
            self._require_same((metric, own.get(f"{metric}:{edition}", edition)), number, symbols)

    def _require_same(self, edition: tuple[str, str], number: int, symbols: int) -> None:
        before, expected = self._named.setdefault(edition, (number, symbols))
        if symbols != expected:
            raise BackupError(
                f"line {number}: the tally of metric.{edition[0]} has {symbols:,} symbols, but another tally of the "
                f"same question, in line {before}, has {expected:,}: {MADE_UP}"
            )
