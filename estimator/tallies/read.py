"""Tallies, read strictly: NDJSON with one line for each metric, edition and window."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire import strict_json
from client_sdk.protocol.wire.malformed import MalformedError
from client_sdk.protocol.wire.reading import MAX_SYMBOL
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from estimator.errors import TalliesError
from estimator.statistics.arrays import Counts
from estimator.tallies.limits import MOST_REPORTS, Bounds, Extent
from estimator.tallies.tally import INT64, Tally

PIECE_BYTES: Final = 65_536

MOST_LISTS: Final = 2
"""The lists in a tally's line: counts and symbols."""

MOST_OTHER_BYTES: Final = 2**16
"""Bytes of a line beside its lists, and of a list that is not written as usual. Honest lines have a
few hundred.
"""

POWERS: Final = 10 ** np.arange(1, 19)
"""From each of them on a number has one more digit."""

STDIN = Path("-")

EVERYTHING: Final = Bounds()

_FIELDS = frozenset({"metric", "edition", "window", "closed", "reports", "counts"})


_SPARSE_FIELDS = _FIELDS | {"symbols"}


def read_file(path: Path, bounds: Bounds = EVERYTHING) -> list[Tally]:
    """Read tallies from an NDJSON file, or from standard input if its name is ``-``.

    Raises:
        TalliesError: if the file cannot be read or exceeds the limits, or a line is not a tally.

    """
    if path == STDIN and sys.stdin is None:
        raise TalliesError("there is no standard input; name a readable file of tallies")
    try:
        if path == STDIN:
            return read(_pieces(sys.stdin.buffer), bounds)
        with path.open("rb") as file:
            return read(_pieces(file), bounds)
    except OSError as error:
        raise TalliesError(f"{path} cannot be read: {error.strerror}; name a readable file of tallies") from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


def read(pieces: Iterable[bytes], bounds: Bounds = EVERYTHING) -> list[Tally]:
    """Read tallies from NDJSON that comes in pieces.

    Raises:
        TalliesError: if it exceeds the limits, or a line is not a tally.

    """
    return decode(bounds.lines(pieces), bounds)


def decode(lines: Iterable[bytes | bytearray], bounds: Bounds = EVERYTHING) -> list[Tally]:
    """Read the selected tallies from NDJSON lines, in their order.

    Raises:
        TalliesError: naming the first line that is not a tally or repeats one, or the exceeded
            limit.

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


def _tally(raw: Any) -> Tally:  # noqa: ANN401 what JSON holds
    if type(raw) is not dict or raw.keys() not in (_FIELDS, _SPARSE_FIELDS):
        raise ValueError(f"it must be an object with exactly: {', '.join(sorted(_FIELDS))} (and symbols, if sparse)")
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
        raise ValueError("symbols must be rising, one for each count")
    return symbols


def _integers(raw: object, field: str, most: int) -> array[int]:
    if isinstance(raw, np.ndarray) and raw.max(initial=0) <= most:
        return array(INT64, raw.tobytes())
    if type(raw) is not list or set(map(type, raw)) - {int} or (raw and not 0 <= min(raw) <= max(raw) <= most):
        raise ValueError(f"{field} must be a list of integers from 0 to {most}")
    return array(INT64, raw)


def _load(line: bytes | bytearray) -> Any:  # noqa: ANN401 what JSON holds
    """Return the document of a line, with arrays in place of lists of whole numbers.

    JSON would make an object of each number: of a large tally, half a gigabyte. So these lists are
    read apart, and an object stands in their place, as the line has no other one.
    """
    if line.count(b"{") > 1 or line.count(b"[") > MOST_LISTS:  # few bytes, but large objects or deep nesting
        raise ValueError("it must be one object that holds names, numbers and at most two lists")
    rest, arrays, end = b"", list[Counts](), 0
    while (start := line.find(b"[", end)) >= 0 and (stop := line.find(b"]", start)) >= 0:
        numbers = _numbers(bytes(memoryview(line)[start + 1 : stop]))
        if numbers is None:
            break
        rest, end = rest + line[end:start] + b'{"list":%d}' % len(arrays), stop + 1
        arrays.append(numbers)
    if len(rest) + len(line) - end > MOST_OTHER_BYTES:
        raise ValueError('it must hold two lists of integers from 0, separated by "," or ", ", and little else')
    try:
        document = strict_json.load(rest + line[end:])
    except MalformedError as error:
        raise ValueError(f"it {error.problem}") from None
    if type(document) is not dict:
        return document
    return {name: arrays[value["list"]] if type(value) is dict else value for name, value in document.items()}


def _numbers(text: bytes) -> Counts | None:
    """Return the whole numbers of a list; None if there is anything else between its brackets."""
    digits = text.replace(b", ", b",")
    if digits.translate(None, b"0123456789,") or b",," in digits or digits[:1] == b"," or digits[-1:] == b",":
        return None
    numbers = np.fromstring(digits, np.int64, sep=",")
    needed = numbers.size + int(np.searchsorted(POWERS, numbers, side="right").sum())
    # JSON has no zeros before a number
    return numbers if needed + max(0, numbers.size - 1) == len(digits) else None
