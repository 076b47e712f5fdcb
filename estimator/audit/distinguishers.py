"""Distinguishers: scores that measure the evidence for one of two answers.

The audit splits the bytes of a device into features, such as the symbol of a report or the size of
an upload.

For known distributions, the most powerful test orders observations by their likelihood ratio
(Neyman & Pearson 1933). This module learns likelihood ratios from a sample of observations of both
answers. There is a score for each of the following:

* each feature
* each pair of features, because the noise of two reports may be correlated
* all features together; the features are assumed to be independent
* for one feature, all pairs of windows together; the pairs are assumed to be independent

An additional score divides the values of a numeric feature into bins with equal counts. Scores that
are sums over several windows are also divided into bins, because a medium sum may be stronger
evidence than an extreme sum.

Sources for the search for events: Ding, Wang, Wang, Zhang & Kifer 2018, "Detecting violations of
differential privacy"; Bichsel, Gehr, Drachsler-Cohen, Tsankov & Vechev 2018, "DP-Finder: finding
differential privacy violations by sampling and optimization".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.strict_json import MalformedError
from estimator.statistics.arrays import Floats

Rows = NDArray[np.int64]
"""Observations as integers, shape (observations, features)."""

Bodies = Sequence[bytes]
"""The bodies of a device's uploads in one window."""


class Feature(NamedTuple):
    """A feature of a device's bytes in one window.

    Attributes:
        name: the name of the feature, such as ``symbol 1 of theme``. The name is the same in every
            window.
        window: the number of the window, from 0.
    """

    name: str
    window: int


Value = int | str | bytes | tuple[object, ...]

Observation = dict[Feature, Value]

MISSING = -1
"""The integer for a missing feature. All other integers are at least 0."""


class ObservationTable(NamedTuple):
    """Observations of two answers, coded as integers.

    Attributes:
        features: the feature of each column.
        ordered: for each column, whether its integers are the feature's own values, such as
            symbols. The integers of other columns, such as ids, are arbitrary codes.
        first: the observations of the first answer, shape (observations, features).
        second: the observations of the second answer, of the same shape.
    """

    features: tuple[Feature, ...]
    ordered: tuple[bool, ...]
    first: Rows
    second: Rows

    def part(self, begin: int, end: int) -> ObservationTable:
        """Return the rows from ``begin`` to ``end`` of both answers."""
        return self._replace(first=self.first[begin:end], second=self.second[begin:end])

    def swapped(self) -> ObservationTable:
        """Return the same observations with the answers exchanged."""
        return self._replace(first=self.second, second=self.first)


def observe(windows: Sequence[Bodies]) -> Observation:
    """Return the features of a device's bytes, window by window.

    If a body is not in the standard encoding, the whole body is also a feature.
    """
    observation: Observation = {}
    for window, bodies in enumerate(windows):
        observation.update((Feature(name, window), value) for name, value in _features(bodies))
    return observation


def _features(bodies: Bodies) -> Iterator[tuple[str, Value]]:
    yield "uploads", len(bodies)
    reported: Counter[str] = Counter()
    for number, body in enumerate(bodies):
        which = f"upload {number}"
        yield f"bytes of {which}", len(body)
        try:
            upload = read_upload(body)
        except MalformedError:
            yield f"all of {which}", body
            continue
        if upload.encode() != body:
            yield f"all of {which}", body.replace(upload.id.encode(), b"")
        yield f"id of {which}", upload.id
        yield f"order of {which}", tuple(report.metric for report in upload.reports)
        yield f"labels of {which}", tuple(sorted(report[:3] for report in upload.reports))
        for place, report in enumerate(upload.reports):
            reported[report.metric] += 1
            yield f"symbol {reported[report.metric]} of {report.metric}", report.symbol
            yield f"place of {report.metric} in {which}", place


def tabulate(first: Sequence[Observation], second: Sequence[Observation]) -> ObservationTable:
    """Return a table with the same number of observations of each answer.

    Except for the first feature, features with the same value in all observations are left out.
    """
    n = min(len(first), len(second))
    both = [*first[:n], *second[:n]]
    columns: list[Rows] = []
    features: list[Feature] = []
    ordered: list[bool] = []
    for feature in dict.fromkeys(feature for observation in both for feature in observation):
        values = [observation.get(feature) for observation in both]
        if columns and values.count(values[0]) == len(values):
            continue
        is_ordered = all(value is None or isinstance(value, int) for value in values)
        columns.append(_plain(values) if is_ordered else _interned(values))
        features.append(feature)
        ordered.append(is_ordered)
    rows = np.column_stack(columns)
    return ObservationTable(tuple(features), tuple(ordered), rows[:n], rows[n:])


def _plain(values: Iterable[Value | None]) -> Rows:
    return np.array([MISSING if value is None else value for value in values], dtype=np.int64)


def _interned(values: Iterable[Value | None]) -> Rows:
    """Return a code for each value.

    Codes count from 1, in the order in which values first occur.
    """
    numbers: dict[Value | None, int] = {None: MISSING}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


FINE, COARSE = 64, 12
"""The maximum number of bins of a feature: `FINE` for a feature alone, `COARSE` within a pair."""

LEAST_FOR_PAIRS = 16
"""The minimum number of observations of each answer at which pairs of features are scored.

With fewer observations, likelihood ratios are learned only for single features.
"""

WIDEST_TABLE = 2**12
"""The maximum width of a range of values for which a lookup table is built."""

PRIOR = 0.5
"""The number added to every count. Likelihood ratios are then finite (Krichevsky & Trofimov 1981).
"""

Places = tuple[tuple[int, ...], ...]
"""Groups of columns with the same table of likelihood ratios.

For instance, ((0,), (4,)) are the columns of one feature in two windows.
"""


class Score(Protocol):
    """A function that measures the evidence in an observation for the first of two answers."""

    def evaluate(self, rows: Rows) -> Floats:
        """Return the score of each observation."""


class Coder(Protocol):
    """A function that maps the values of a feature to codes, which are integers below ``size``."""

    @property
    def size(self) -> int:
        """The number of codes."""

    def codes(self, values: Rows) -> Rows:
        """Return the code of each value."""


@dataclass(frozen=True, slots=True)
class _ExactCoder:
    """A coder with a code for each value in the sample, and one code for all other values.

    Attributes:
        values: the different values in the sample, in ascending order. The sample must not be
            empty.
    """

    values: Rows
    _table: Rows = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Tabulate the codes if all values lie in a narrow range.

        The first and the last entry of the table are for values outside the range.
        """
        low, width = self.values[0], int(self.values[-1]) - int(self.values[0]) + 1
        table = np.full(width + 2 if width <= WIDEST_TABLE else 0, self.values.size)
        if table.size:
            table[self.values - low + 1] = np.arange(self.values.size)
        object.__setattr__(self, "_table", table)

    @property
    def size(self) -> int:
        return self.values.size + 1

    def codes(self, values: Rows) -> Rows:
        codes: Rows
        if self._table.size:
            codes = self._table.take(values - (self.values[0] - 1), mode="clip")
            return codes
        codes = np.minimum(np.searchsorted(self.values, values), self.values.size - 1)
        return np.where(self.values[codes] == values, codes, self.values.size)


@dataclass(frozen=True, slots=True)
class _Bins:
    """A coder with one code for each range of values."""

    edges: Rows | Floats

    @property
    def size(self) -> int:
        return self.edges.size + 1

    def codes(self, values: Rows | Floats) -> Rows:
        return np.searchsorted(self.edges, values, side="right")


@dataclass(frozen=True, slots=True)
class _Learnt:
    """A score that adds up the log-likelihood ratios of several groups of columns (`Places`)."""

    places: Places
    coders: tuple[Coder, ...]
    table: Floats

    def evaluate(self, rows: Rows) -> Floats:
        return reduce(np.add, (self.table[_joint(rows[:, place], self.coders)] for place in self.places))


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of several scores. The features of the scores are assumed to be independent."""

    parts: tuple[Score, ...]

    def evaluate(self, rows: Rows) -> Floats:
        return reduce(np.add, (part.evaluate(rows) for part in self.parts))


@dataclass(frozen=True, slots=True)
class _Folded:
    """A score that divides another score into bins, and returns the bin's log-likelihood ratio."""

    inner: Score
    bins: _Bins
    table: Floats

    def evaluate(self, rows: Rows) -> Floats:
        folded: Floats = self.table[self.bins.codes(self.inner.evaluate(rows))]
        return folded


def scores(sample: ObservationTable) -> Iterator[Score]:
    """Learn scores from a sample of observations, and yield them."""
    columns = [np.unique(np.concatenate([sample.first[:, at], sample.second[:, at]])) for at in range(_width(sample))]
    exact = [_ExactCoder(values) for values in columns]
    pooled = tuple(_pooled(sample, columns))
    for score in pooled:
        yield score
        if len(score.places) > 1:
            yield _fold(sample, score)
    if len(pooled) > 1:
        yield _Sum(pooled)
    for at, values in enumerate(columns):
        if len(pooled) < len(columns):  # otherwise the score of the feature's only window was yielded above
            yield _learn(sample, ((at,),), (exact[at],))
        if sample.ordered[at] and values.size > FINE:
            yield _learn(sample, ((at,),), (_bins(sample, at, FINE),))
    if len(sample.first) >= LEAST_FOR_PAIRS:
        yield from _in_pairs(sample, exact)


def _in_pairs(sample: ObservationTable, exact: Sequence[_ExactCoder]) -> Iterator[Score]:
    coarse = {at: coder for at in range(_width(sample)) if (coder := _coarse(sample, at, exact[at])) is not None}
    over_time: defaultdict[str, list[Score]] = defaultdict(list)
    for first, second in combinations(coarse, 2):
        score = _learn(sample, ((first, second),), (coarse[first], coarse[second]))
        yield score
        if sample.features[first].name == sample.features[second].name:
            over_time[sample.features[first].name].append(score)
    for parts in over_time.values():
        if len(parts) > 1:
            yield (all_pairs := _Sum(tuple(parts)))
            yield _fold(sample, all_pairs)


def _width(sample: ObservationTable) -> int:
    return len(sample.features)


def _pooled(sample: ObservationTable, columns: Sequence[Rows]) -> Iterator[_Learnt]:
    """Yield, for each feature name, a score that treats all windows alike."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, feature in enumerate(sample.features):
        places[feature.name].append(at)
    for group in places.values():
        values = np.unique(np.concatenate([columns[at] for at in group]))
        yield _learn(sample, tuple((at,) for at in group), (_ExactCoder(values),))


def _coarse(sample: ObservationTable, at: int, exact: _ExactCoder) -> Coder | None:
    """Return a coder that maps the values of a feature to few codes.

    Return None if the feature has only one value, or many unordered values, such as ids.
    """
    if exact.values.size <= COARSE:
        return exact if exact.values.size > 1 else None
    return _bins(sample, at, COARSE) if sample.ordered[at] else None


def _bins(sample: ObservationTable, at: int, bins: int) -> Coder:
    return _bins_of(np.concatenate([sample.first[:, at], sample.second[:, at]]), bins)


def _bins_of(values: Rows | Floats, bins: int) -> _Bins:
    quantiles = np.quantile(values, np.arange(1, bins) / bins, method="higher")
    return _Bins(np.unique(quantiles))


def _fold(sample: ObservationTable, inner: Score) -> Score:
    sides = [inner.evaluate(rows) for rows in (sample.first, sample.second)]
    bins = _bins_of(np.concatenate(sides), FINE)
    counts = [np.bincount(bins.codes(side), minlength=bins.size) for side in sides]
    return _Folded(inner, bins, _log_ratios(*counts))


def _log_ratios(first: Rows, second: Rows) -> Floats:
    ratios: Floats = np.log((first + PRIOR) / (second + PRIOR))
    return ratios


def _learn(sample: ObservationTable, places: Places, coders: tuple[Coder, ...]) -> _Learnt:
    size = int(np.prod([coder.size for coder in coders]))
    counts = [
        np.sum([np.bincount(_joint(rows[:, place], coders), minlength=size) for place in places], axis=0)
        for rows in (sample.first, sample.second)
    ]
    return _Learnt(places, coders, _log_ratios(*counts))


def _joint(values: Rows, coders: Sequence[Coder]) -> Rows:
    codes = coders[0].codes(values[:, 0])
    for at, coder in enumerate(coders[1:], start=1):
        codes = codes * coder.size + coder.codes(values[:, at])
    return codes
