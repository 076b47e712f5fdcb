"""How much of tallies is read: a collector, or whoever answers in its place, must not decide over a job's memory.

What an honest collection comes to lies far below each bound. Whoever meets one nevertheless reads fewer windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from client_sdk.protocol import Registry, Window
from estimator.errors import TalliesError

MOST_BYTES: Final = 2**32
"""Bytes of an answer or a file: they are read line by line and cost time alone, of the order of a minute."""

MOST_TALLIES: Final = 10**5
"""Wanted tallies: fifty questions on each day of five years. Each takes kilobytes, and milliseconds to estimate."""

MOST_COUNTS: Final = 2**26
"""Counts and symbols of all wanted tallies together: half a gigabyte, as they are kept."""

MOST_REPORTS: Final = 2**53 - 1
"""Reports of all wanted tallies together: up to there every sum of counts is exact as a float, in which shares are
computed and in which browsers and many readers of JSON count. It is a million reports of everybody on earth."""

LEAST_LINE_BYTES: Final = 2**22
"""Bytes that a line may have whatever the registry: an edition of before may have had more symbols."""

BYTES_A_SYMBOL: Final = 28
"""Bytes in which a line names a symbol and its count: 8 digits and 16, with what stands between them."""

FEWER: Final = "read fewer windows, with --from and --to"


def _every(_: Window) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is read.

    Attributes:
        line_bytes: how long a line may be.
        spans: whether a window is wanted; tallies of others are checked and forgotten.

    """

    line_bytes: int = LEAST_LINE_BYTES
    spans: Callable[[Window], bool] = _every

    @classmethod
    def of(cls, registry: Registry, spans: Callable[[Window], bool] = _every) -> Bounds:
        """Return the bounds for tallies of a registry: lines may be as long as its largest alphabet asks for."""
        symbols = max((metric.channel.symbols for metric in registry.metrics.values()), default=0)
        return cls(max(LEAST_LINE_BYTES, BYTES_A_SYMBOL * symbols), spans)

    def lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines that pieces of a text make up, without their ends; no more is held than one of them.

        Raises:
            TalliesError: if a line is longer than a tally can be, or the text longer than all of them.

        """
        begun: list[bytes] = []
        number, of_line, of_all = 1, 0, 0
        for piece in pieces:
            of_all += len(piece)
            if of_all > MOST_BYTES:
                raise TalliesError(f"there are more than {MOST_BYTES:,} bytes; {FEWER}")
            first, *others = piece.split(b"\n")
            for part in (first, *others[:-1]) if others else ():
                self._check(number, of_line + len(part))
                yield b"".join((*begun, part))
                begun, of_line, number = [], 0, number + 1
            rest = others[-1] if others else first
            of_line += len(rest)
            self._check(number, of_line)
            begun.append(rest)
        if of_line:
            yield b"".join(begun)

    def _check(self, number: int, line_bytes: int) -> None:
        if line_bytes > self.line_bytes:
            raise TalliesError(f"line {number} is longer than a tally can be, {self.line_bytes:,} bytes")


class Extent:
    """How much of wanted tallies has been read."""

    def __init__(self) -> None:
        """Begin with none."""
        self._tallies = self._counts = self._reports = 0

    def add(self, counts: int, reports: int) -> None:
        """Add a tally of so many counts and symbols.

        Raises:
            TalliesError: if that is too much; the message says of what.

        """
        self._tallies += 1
        self._counts += counts
        self._reports += reports
        if self._tallies > MOST_TALLIES:
            raise TalliesError(f"there are more than {MOST_TALLIES:,} tallies; {FEWER}")
        if self._counts > MOST_COUNTS:
            raise TalliesError(f"the tallies have more than {MOST_COUNTS:,} counts; {FEWER}")
        if self._reports > MOST_REPORTS:
            raise TalliesError("the tallies hold 2^53 reports or more, so that sums of them would not be exact")
