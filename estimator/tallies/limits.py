"""Limits on the tallies that are read.

They protect the job's memory from a collector, or from whoever answers in its place. Honest
collections stay far below each limit. If a limit is reached nevertheless, read fewer windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.errors import TalliesError

MOST_BYTES: Final = 2**32
"""Bytes of a response or a file. It is read line by line, so this costs only time, about a
minute.
"""

MOST_TALLIES: Final = 10**5
"""Selected tallies: fifty questions on each day of five years. Each takes kilobytes, and
milliseconds to estimate.
"""

MOST_COUNTS: Final = 2**26
"""Counts and symbols of all selected tallies together: half a gigabyte in memory."""

MOST_REPORTS: Final = 2**53 - 1
"""Reports of all selected tallies together. Up to this number every sum of counts is exact as a
float, which shares, browsers and many JSON readers use. It is a million reports from everybody on
earth.
"""

LEAST_LINE_BYTES: Final = 2**22
"""Bytes that a line may have whatever the registry: an older edition may have had more symbols."""

BYTES_A_SYMBOL: Final = 28
"""Bytes of a symbol and its count in a line: 8 and 16 digits, with separators."""

FEWER: Final = "read fewer windows, with --from and --to"


def _every(_: Window) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits for one collection.

    Attributes:
        line_bytes: the longest line.
        spans: whether a window is selected. Tallies of other windows are checked and dropped.

    """

    line_bytes: int = LEAST_LINE_BYTES
    spans: Callable[[Window], bool] = _every

    @classmethod
    def of(cls, registry: Registry, spans: Callable[[Window], bool] = _every) -> Bounds:
        """Return the limits for tallies of a registry.

        Lines may be as long as its largest alphabet needs.
        """
        symbols = max((metric.channel.symbols for metric in registry.metrics.values()), default=0)
        return cls(max(LEAST_LINE_BYTES, BYTES_A_SYMBOL * symbols), spans)

    def lines(self, pieces: Iterable[bytes]) -> Iterator[bytes | bytearray]:
        """Yield the lines of a text that comes in pieces, without line ends.

        Only one line is held at a time, and only once.

        Raises:
            TalliesError: if a line is longer than any tally, or the text is longer than all of
                them.

        """
        begun, number, of_all = bytearray(), 1, 0
        for piece in pieces:
            of_all += len(piece)
            if of_all > MOST_BYTES:
                raise TalliesError(f"there are more than {MOST_BYTES:,} bytes; {FEWER}")
            first, *others = piece.split(b"\n")
            for part in (first, *others[:-1]) if others else ():
                self._check(number, len(begun) + len(part))
                begun += part
                yield begun
                begun, number = bytearray(), number + 1
            rest = others[-1] if others else first
            self._check(number, len(begun) + len(rest))
            begun += rest
        if begun:
            yield begun

    def _check(self, number: int, line_bytes: int) -> None:
        if line_bytes > self.line_bytes:
            raise TalliesError(f"line {number} is longer than any tally, {self.line_bytes:,} bytes")


class Extent:
    """The size of the selected tallies that have been read."""

    def __init__(self) -> None:
        """Begin with no tallies."""
        self._tallies = self._counts = self._reports = 0

    def add(self, counts: int, reports: int) -> None:
        """Add a tally.

        Args:
            counts: the number of its counts and symbols.
            reports: the number of its reports.

        Raises:
            TalliesError: if a limit is exceeded; the message says which.

        """
        self._tallies += 1
        self._counts += counts
        self._reports += reports
        if self._tallies > MOST_TALLIES:
            raise TalliesError(f"there are more than {MOST_TALLIES:,} tallies; {FEWER}")
        if self._counts > MOST_COUNTS:
            raise TalliesError(f"the tallies have more than {MOST_COUNTS:,} counts; {FEWER}")
        if self._reports > MOST_REPORTS:
            raise TalliesError("the tallies hold 2^53 reports or more, so their sums would not be exact")
