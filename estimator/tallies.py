"""Tallies of reports, and a strict reader of tallies.

A tally counts how often each symbol was reported in a window. The alphabet of a metric is the set
of its possible symbols, numbered from 0. A file of tallies has one line of JSON (NDJSON) for each
metric, edition and window.

Limits on the input protect the job's memory from a malicious collector. Real collections are far
below all limits. If your collection reaches a limit, read fewer windows at once.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire import strict_json
from client_sdk.protocol.wire.reading import MAX_SYMBOL
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from client_sdk.protocol.wire.strict_json import MalformedError
from estimator.errors import TalliesError, UnfitTallyError
from estimator.statistics.arrays import Counts

INT64: Final = "q"
"""The type code of arrays of 64-bit integers. These arrays store counts in little memory."""

MOST_BYTES: Final = 2**32
"""The maximum number of bytes in a response or a file. Reading the maximum takes about a minute,
and only one line at a time is in memory.
"""

MOST_TALLIES: Final = 10**5
"""The maximum number of tallies in the selected windows, enough for five years of fifty daily
metrics. Each tally takes a few kilobytes of memory and a few milliseconds to estimate.
"""

MOST_COUNTS: Final = 2**26
"""The maximum number of counts and symbols in all selected tallies together. The counts and symbols
take up to half a gigabyte of memory.
"""

MOST_REPORTS: Final = 2**53 - 1
"""The maximum number of reports in all selected tallies together. Up to this number, a 64-bit float
represents every sum of counts exactly. Shares are computed with such floats. Browsers and many JSON
readers also use them. The limit equals about a million reports per person on earth.
"""

LEAST_LINE_BYTES: Final = 2**22
"""Lines of up to this many bytes are always allowed. An older edition of a metric may have had more
symbols than any metric in the registry.
"""

BYTES_A_SYMBOL: Final = 28
"""The maximum number of bytes of one symbol and its count in a line. The symbol has up to 8 digits,
the count has up to 16, and separators need the other bytes.
"""

FEWER: Final = "read fewer windows, with --from and --to"

PIECE_BYTES: Final = 65_536

MOST_LISTS: Final = 2
"""The maximum number of lists in a tally's line: the counts and the symbols."""

MOST_OTHER_BYTES: Final = 2**16
"""The maximum number of bytes in a line besides its lists of whole numbers. Valid lines have a few
hundred such bytes.
"""

POWERS: Final = 10 ** np.arange(1, 19)
"""The powers of ten from 10 to 10**18, which give the number of digits of a whole number. For
example, 345 has three digits, because two of these powers, 10 and 100, do not exceed it.
"""

STDIN = Path("-")

_FIELDS = frozenset({"metric", "edition", "window", "closed", "reports", "counts"})

_SPARSE_FIELDS = _FIELDS | {"symbols"}


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of reports of each symbol in one window.

    Attributes:
        edition: the 12 hex digits of the edition, which identify the meaning of the reports.
        closed: whether the tally can no longer change.
        reports: the number of reports, which is the sum of the counts.
        counts: the count of each symbol 0, 1, …. If ``symbols`` is not None, the counts of these
            symbols, in the same order.
        symbols: the symbols with reports, in ascending order. None if ``counts`` contains a count
            for every symbol.

    """

    metric: str
    edition: str
    window: Window
    closed: bool
    reports: int
    counts: Sequence[int]
    symbols: Sequence[int] | None = None

    def dense(self, symbols: int) -> Counts:
        """Return the count of each of the symbols 0..symbols-1, shape (symbols,).

        Raise `UnfitTallyError` if the tally's alphabet is not 0..symbols-1.
        """
        self.check(symbols)
        if self.symbols is None:
            return np.array(self.counts, dtype=np.int64)
        dense = np.zeros(symbols, dtype=np.int64)
        places, counts = self.counted()
        dense[places] = counts
        return dense

    def counted(self) -> tuple[Counts, Counts]:
        """Return the symbols that the tally lists, in ascending order, and their counts."""
        counts = np.array(self.counts, dtype=np.int64)
        return np.arange(counts.size) if self.symbols is None else np.array(self.symbols, dtype=np.int64), counts

    def check(self, symbols: int) -> None:
        """Raise `UnfitTallyError` if the tally's alphabet is not 0..symbols-1."""
        if self.symbols is None and len(self.counts) != symbols:
            raise UnfitTallyError(f"it has {len(self.counts)} counts, but the channel has {symbols} symbols")
        if self.symbols and self.symbols[-1] >= symbols:
            raise UnfitTallyError(f"it has symbol {self.symbols[-1]}, but the channel has only {symbols} symbols")


def _every(_: Window) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Bounds:
    """The maximum length of a line, and a function that returns whether a window is selected.

    Tallies of windows that are not selected are checked for errors, and then dropped.
    """

    line_bytes: int = LEAST_LINE_BYTES
    spans: Callable[[Window], bool] = _every

    @classmethod
    def from_metrics(cls, metrics: Iterable[Metric], spans: Callable[[Window], bool] = _every) -> Bounds:
        """Return the limits for tallies of the given metrics.

        The maximum line length depends on the metric with the most symbols.
        """
        symbols = max((metric.channel.symbols for metric in metrics), default=0)
        return cls(max(LEAST_LINE_BYTES, BYTES_A_SYMBOL * symbols), spans)

    def lines(self, pieces: Iterable[bytes]) -> Iterator[bytes | bytearray]:
        """Yield the lines of a file or response that arrives in pieces. The line ends are removed.

        Only one line is in memory at a time. Raise `TalliesError` if a line or the whole input is
        longer than allowed.
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
            raise TalliesError(f"line {number} is longer than the limit of {self.line_bytes:,} bytes")


class Extent:
    """The total size of the selected tallies read so far, which must not exceed the limits."""

    def __init__(self) -> None:
        """Start with a size of 0."""
        self._tallies = self._counts = self._reports = 0

    def add(self, counts: int, reports: int) -> None:
        """Add one tally.

        ``counts`` is the number of the tally's counts plus the number of the tally's listed
        symbols. Raise `TalliesError` if a limit is exceeded.
        """
        self._tallies += 1
        self._counts += counts
        self._reports += reports
        if self._tallies > MOST_TALLIES:
            raise TalliesError(f"there are more than {MOST_TALLIES:,} tallies; {FEWER}")
        if self._counts > MOST_COUNTS:
            raise TalliesError(f"the tallies have more than {MOST_COUNTS:,} counts; {FEWER}")
        if self._reports > MOST_REPORTS:
            raise TalliesError("the tallies contain 2^53 reports or more, so their sums would not be exact")


EVERYTHING: Final = Bounds()


def read_file(path: Path, bounds: Bounds = EVERYTHING) -> list[Tally]:
    """Read tallies from an NDJSON file, or from standard input if ``path`` is ``-``.

    Raise `TalliesError` if the file cannot be read, exceeds the limits, or has a line that is not a
    tally.
    """
    if path == STDIN and sys.stdin is None:
        raise TalliesError("there is no standard input; give the path of a file of tallies")
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as file:
            return decode(bounds.lines(iter(partial(file.read, PIECE_BYTES), b"")), bounds)
    except OSError as error:
        raise TalliesError(f"{path} cannot be read: {error.strerror}; give the path of a readable file") from error
    except TalliesError as error:
        raise TalliesError(f"{'standard input' if path == STDIN else path}: {error}") from None


def encode(tallies: Iterable[Tally]) -> bytes:
    """Return tallies as NDJSON, in the format that `decode` reads."""
    lines = []
    for tally in tallies:
        fields = {
            "metric": tally.metric,
            "edition": tally.edition,
            "window": tally.window.text,
            "closed": tally.closed,
            "reports": tally.reports,
            "counts": [*tally.counts],
        }
        sparse = {} if tally.symbols is None else {"symbols": [*tally.symbols]}
        lines.append(json.dumps(fields | sparse, separators=(",", ":")) + "\n")
    return "".join(lines).encode()


def decode(lines: Iterable[bytes | bytearray], bounds: Bounds = EVERYTHING) -> list[Tally]:
    """Read the tallies of selected windows from NDJSON lines, in the order of the lines.

    Raise `TalliesError` if a line is not a tally, if two selected tallies have the same metric,
    edition and window, or if a limit is exceeded.
    """
    tallies: list[Tally] = []
    line_of: dict[tuple[str, str, str], int] = {}
    extent = Extent()
    for number, line in enumerate(lines, start=1):
        try:
            tally = _tally(_load(line))
        except (ValueError, WindowError) as error:
            raise TalliesError(f"line {number} is not a tally: {error}") from None
        if not bounds.spans(tally.window):
            continue
        extent.add(len(tally.counts) + len(tally.symbols or ()), tally.reports)
        key = (tally.metric, tally.edition, tally.window.text)
        if key in line_of:
            raise TalliesError(
                f"line {number} repeats metric, edition and window of line {line_of[key]}; each tally may occur once"
            )
        line_of[key] = number
        tallies.append(tally)
    return tallies


def _tally(raw: Any) -> Tally:  # noqa: ANN401 any JSON value
    if type(raw) is not dict or raw.keys() not in (_FIELDS, _SPARSE_FIELDS):
        raise ValueError(
            "the line must be an object with exactly these fields: "
            f"{', '.join(sorted(_FIELDS))} (and symbols, if sparse)"
        )
    metric, edition, window, closed = raw["metric"], raw["edition"], raw["window"], raw["closed"]
    if type(metric) is not str or not METRIC_NAME.fullmatch(metric):
        raise ValueError("metric must be a name such as dark_mode")
    if type(edition) is not str or not EDITION.fullmatch(edition):
        raise ValueError("edition must be 12 lower-case hex digits")
    if type(window) is not str:
        raise ValueError("window must be text")
    if type(closed) is not bool:
        raise ValueError("closed must be true or false")
    counts = _integers(raw["counts"], "counts", MOST_REPORTS)
    symbols = _symbols(raw["symbols"], len(counts)) if "symbols" in raw else None
    if type(raw["reports"]) is not int or not raw["reports"] == sum(counts) <= MOST_REPORTS:
        raise ValueError("reports must be the sum of counts, below 2^53")
    return Tally(metric, edition, Window.parse(window), closed, raw["reports"], counts, symbols)


def _symbols(raw: object, expected: int) -> Sequence[int]:
    symbols = _integers(raw, "symbols", MAX_SYMBOL)
    numbers = np.frombuffer(symbols, np.int64)
    if len(symbols) != expected or (numbers[1:] <= numbers[:-1]).any():
        raise ValueError("symbols must be in rising order, one for each count")
    return symbols


def _integers(raw: object, field: str, most: int) -> array[int]:
    if isinstance(raw, np.ndarray) and raw.max(initial=0) <= most:
        return array(INT64, raw.tobytes())
    if type(raw) is not list or set(map(type, raw)) - {int} or (raw and not 0 <= min(raw) <= max(raw) <= most):
        raise ValueError(f"{field} must be a list of integers from 0 to {most}")
    return array(INT64, raw)


def _load(line: bytes | bytearray) -> Any:  # noqa: ANN401 any JSON value
    """Parse a line of JSON, with arrays in place of lists of whole numbers.

    Python's JSON reader would create an object for each number. For a large tally, the objects take
    half a gigabyte. Each list of whole numbers is therefore first replaced with a nested JSON
    object, and parsed separately. A valid line has no nested objects of its own, so each list can
    be put back in its place.
    """
    if line.count(b"{") > 1 or line.count(b"[") > MOST_LISTS:  # a short line could nest deeply, or contain many objects
        raise ValueError("the line must be one object that contains names, numbers and at most two lists")
    rest, arrays, end = b"", list[Counts](), 0
    while (start := line.find(b"[", end)) >= 0 and (stop := line.find(b"]", start)) >= 0:
        numbers = _numbers(bytes(memoryview(line)[start + 1 : stop]))
        if numbers is None:
            break
        rest, end = rest + line[end:start] + b'{"list":%d}' % len(arrays), stop + 1
        arrays.append(numbers)
    if len(rest) + len(line) - end > MOST_OTHER_BYTES:
        raise ValueError(
            f'it must contain two lists of integers from 0, separated by "," or ", ", and at most {MOST_OTHER_BYTES} '
            "other bytes"
        )
    try:
        document = strict_json.load(rest + line[end:])
    except MalformedError as error:
        raise ValueError(f"the line {error.problem}") from None
    if type(document) is not dict:
        return document
    return {name: arrays[value["list"]] if type(value) is dict else value for name, value in document.items()}


def _numbers(text: bytes) -> Counts | None:
    """Parse the text between a list's brackets as numbers. Return None for any other text."""
    digits = text.replace(b", ", b",")
    if digits.translate(None, b"0123456789,") or b",," in digits or digits[:1] == b"," or digits[-1:] == b",":
        return None
    numbers = np.fromstring(digits, np.int64, sep=",")
    needed = numbers.size + int(np.searchsorted(POWERS, numbers, side="right").sum())
    # JSON allows no leading zeros, so each number must have the expected length
    return numbers if needed + max(0, numbers.size - 1) == len(digits) else None
