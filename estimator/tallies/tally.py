"""Tallies, read strictly: NDJSON with one line for each metric, edition and window."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

import numpy as np

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import EDITION, MAX_SYMBOL, METRIC_NAME
from estimator.errors import TalliesError, UnfitTallyError
from estimator.statistics.arrays import Counts
from estimator.tallies.bounds import MOST_REPORTS, Bounds, Extent

INT64: Final = "q"
"""The type code of arrays of counts: a large tally takes eight bytes for each count, not an
object."""

PIECE_BYTES: Final = 65_536

MOST_LISTS: Final = 2
"""The lists in a tally's line: counts and symbols."""

STDIN = Path("-")

EVERYTHING: Final = Bounds()

_FIELDS = frozenset({"metric", "edition", "window", "closed", "reports", "counts"})


_SPARSE_FIELDS = _FIELDS | {"symbols"}


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each symbol was reported in one window.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that identify what the reports mean.
        window: the window of the answers.
        closed: whether the tally can no longer change.
        reports: n, the sum of the counts.
        counts: the count of each symbol from 0, or of each of ``symbols``.
        symbols: the counted symbols, rising, if the alphabet is sparse; otherwise None.

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

        Raises:
            UnfitTallyError: if the tally has another alphabet.

        """
        self.check(symbols)
        if self.symbols is None:
            return np.array(self.counts, dtype=np.int64)
        dense = np.zeros(symbols, dtype=np.int64)
        dense[list(self.symbols)] = self.counts
        return dense

    def check(self, symbols: int) -> None:
        """Refuse a tally of another alphabet than 0..symbols-1.

        Raises:
            UnfitTallyError: saying how it differs.

        """
        if self.symbols is None and len(self.counts) != symbols:
            raise UnfitTallyError(f"it has {len(self.counts)} counts where the channel has {symbols} symbols")
        if self.symbols and self.symbols[-1] >= symbols:
            raise UnfitTallyError(f"it has symbol {self.symbols[-1]} where the channel has {symbols} symbols")


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


def decode(lines: Iterable[bytes], bounds: Bounds = EVERYTHING) -> list[Tally]:
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
    if len(symbols) != expected or any(symbol >= after for symbol, after in pairwise(symbols)):
        raise ValueError("symbols must be rising, one for each count")
    return symbols


def _integers(raw: object, field: str, most: int) -> Sequence[int]:
    if type(raw) is not list or set(map(type, raw)) - {int} or (raw and not 0 <= min(raw) <= max(raw) <= most):
        raise ValueError(f"{field} must be a list of integers from 0 to {most}")
    return array(INT64, raw)


def _load(line: bytes) -> Any:  # noqa: ANN401 what JSON holds
    if line.count(b"{") > 1 or line.count(b"[") > MOST_LISTS:
        # few bytes, but large objects or deep nesting
        raise ValueError("it must be one object that holds names, numbers and at most two lists")
    try:
        return _JSON.decode(line.decode())
    except UnicodeDecodeError:
        raise ValueError("it must be JSON in UTF-8") from None
    except json.JSONDecodeError:
        raise ValueError("it must be one JSON object on one line") from None
    except _MistakeError:
        raise
    except ValueError:
        raise ValueError("it holds a number with too many digits") from None


class _MistakeError(ValueError):
    """A mistake that JSON allows and a tally does not."""


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) != len(members):
        raise _MistakeError("a field occurs twice")
    return document


def _constant(_: str) -> NoReturn:
    raise _MistakeError("it holds a number that is not finite")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
