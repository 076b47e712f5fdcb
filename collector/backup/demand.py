"""What a backup takes of a store's memory, which may be far more than the file has bytes. Pure.

A tally takes room for every symbol of its alphabet, here and with whoever reads it: a line that
names one report of symbol 16,777,215 takes 134 MB. A closed window is noted in every shard.
"""

from __future__ import annotations

from typing import Final

from collector.backup.lines import BackupLine, Bucket, ClosedWindows, Editions, TallyLine
from collector.store.tally_memory import COUNTER_BYTES, MB

NAME_BYTES: Final = 50
"""About what a store takes for a name in a set or hash, besides the name itself."""

BUCKET_BYTES: Final = 120
"""About what a store takes for a sorted set with an expiry, besides its members."""

MEMBER_BYTES: Final = 8
"""What a store takes for a member of a small sorted set, besides its bytes."""


EMPTY_BYTES: Final = 65_536
"""More than a store takes for its own few keys."""


class Demand:
    """The memory that the lines of a backup take.

    Attributes:
        tally_bytes: of the tallies, which all lie in one shard.

    """

    def __init__(self) -> None:
        """Begin with an empty backup."""
        self.tally_bytes = self._bytes_a_shard = 0
        self._other_bytes = EMPTY_BYTES
        self._largest: tuple[int, TallyLine] | None = None

    def add(self, number: int, line: BackupLine) -> None:
        """Add a line, by its number in the file."""
        match line:
            case TallyLine():
                self.tally_bytes += COUNTER_BYTES * line.symbols + 3 * (NAME_BYTES + len(line.name))
                if self._largest is None or line.symbols > self._largest[1].symbols:
                    self._largest = number, line
            case Bucket(members=members):
                self._other_bytes += BUCKET_BYTES + sum(len(member) + MEMBER_BYTES for member in members)
            case ClosedWindows(windows=windows):
                self._bytes_a_shard += sum(len(window) + NAME_BYTES for window in windows)
            case Editions(own=own):
                self._other_bytes += sum(len(edition) + len(each) + NAME_BYTES for edition, each in own.items())

    def total_bytes(self, shards: int) -> int:
        """Return the memory of all lines in a store of so many shards."""
        return self.tally_bytes + self._other_bytes + shards * self._bytes_a_shard

    def lack(self, needed_bytes: int, room_bytes: int) -> str:
        """Return the sentence of a backup that does not fit into what is free."""
        largest = ""
        if self._largest is not None:
            number, tally = self._largest
            size = COUNTER_BYTES * tally.symbols / MB
            largest = (
                f"; its largest tally is line {number}, of metric.{tally.metric} in {tally.window}, with "
                f"{tally.symbols:,} symbols ({size:,.0f} MB)"
            )
        return (
            f"the backup takes up to {needed_bytes / MB:,.0f} MB of the store, and {room_bytes / MB:,.0f} MB are "
            f"free{largest}: give the server more memory (maxmemory, or --store-memory); if your app never asked that, "
            "the file is none of your backups. Nothing was written"
        )
