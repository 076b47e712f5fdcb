"""The coverage of intervals for figures of a distribution, such as its quantiles and variance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, NamedTuple

import numpy as np

from benchmarks.coverage.cells import Cell, Figure, Held, holds, tallies
from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.analyses.grid import QUANTILES
from estimator.distribution_intervals.intervals import (
    band,
    band_places,
    mean_within,
    quantile_intervals,
    shares_of_ranges,
    variance_interval,
)
from estimator.distribution_intervals.ranges import Places, TallyRanges
from estimator.likelihood.histogram import Histogram, shares_of
from estimator.statistics.arrays import Counts, Floats
from tests.support.estimates.inverses import requested
from tests.support.estimates.populations import POPULATIONS, Population

SETTINGS: Final[Mapping[str, tuple[Channel, int]]] = {
    f"{kind.name}, epsilon {epsilon}": (kind.within(requested(epsilon)), reports)
    for kind, epsilon, reports in (
        (SquareWave, "0.5", 100_000),
        (SquareWave, "1", 10_000),
        (SquareWave, "2", 50),
        (SquareWave, "4", 1000),
        (SquareWave, "8", 60),
        (Laplace, "4", 1000),
        (Hierarchical, "1", 10_000),
        (Hierarchical, "4", 1000),
    )
}

NUMBER: Final = Number(Fraction(0), Fraction(1), "distribution")


class Truth(NamedTuple):
    """The true values of a population on a grid.

    Attributes:
        at_most: the share of answers up to each point, shape (points,).
        below: the share of answers below each point, shape (points,).

    """

    at_most: Floats
    below: Floats
    people: Population

    @classmethod
    def from_population(cls, people: Population, points: Floats) -> Truth:
        at_most = np.array([people.at_most(point) for point in points.tolist()])
        alike = np.array([people.shares[people.answers == point].sum() for point in points.tolist()])
        return cls(at_most, at_most - alike, people)

    def within(self, firsts: Places, lasts: Places) -> Floats:
        """Return the true shares of ranges between grid points, both ends included."""
        shares: Floats = self.at_most[lasts] - self.below[firsts]
        return shares


Compared = Callable[[TallyRanges, Truth], Held]


def quantiles(tally: TallyRanges, truth: Truth) -> Held:
    """Return whether the interval of each of the five quantiles contains the true value."""
    lows, highs = np.array(quantile_intervals(tally, QUANTILES)).T
    return holds(lows, highs, np.array([truth.people.quantile(probability) for probability in QUANTILES]))


def whole_band(tally: TallyRanges, truth: Truth) -> Held:
    """Return whether the band contains the distribution function at all of its points."""
    places = band_places(truth.at_most.size)
    return np.array([holds(*band(tally, places), truth.at_most[places]).all()])


def ranges(tally: TallyRanges, truth: Truth) -> Held:
    """Return whether the interval of each of four ranges contains the true share."""
    last = truth.at_most.size - 1
    firsts, lasts = (
        np.array([0, last // 4, last // 2, last // 6]),
        np.array([last // 4, last // 3, last, 5 * last // 6]),
    )
    return holds(*shares_of_ranges(tally, firsts, lasts), truth.within(firsts, lasts))


def bins(tally: TallyRanges, truth: Truth, family: int = 1) -> Held:
    """Return whether the interval of each bin contains the true share."""
    firsts = np.arange(truth.at_most.size - 1)
    return holds(*shares_of_ranges(tally, firsts, firsts + 1, family), truth.within(firsts, firsts + 1))


def all_bins(tally: TallyRanges, truth: Truth) -> Held:
    return np.array([bins(tally, truth, truth.at_most.size - 1).all()])


def variance(tally: TallyRanges, truth: Truth) -> Held:
    low, high = variance_interval(tally)
    return holds(np.array([low]), np.array([high]), truth.people.variance)


def mean_of_range(tally: TallyRanges, truth: Truth) -> Held:
    """Return whether the interval of the mean in the middle of the range contains the true mean.

    Populations without answers in the middle are skipped.
    """
    last = truth.at_most.size - 1
    first, last = last // 4, 3 * last // 4
    points, people = tally.ranges.points, truth.people
    is_within = (people.answers >= points[first]) & (people.answers <= points[last])
    shares = people.shares[is_within]
    if not shares.any():
        return np.array([True])
    low, high = mean_within(tally, first, last)
    return holds(np.array([low]), np.array([high]), float(people.answers[is_within] @ shares / shares.sum()))


def _cells(compared: Compared) -> Iterator[Cell]:
    for name, (channel, reports) in SETTINGS.items():
        points = Histogram.from_channel(channel, NUMBER).points
        for population, make in POPULATIONS.items():
            held = partial(_held, compared, Truth.from_population(make(reports), points), name, population)
            yield Cell(f"{name}, {reports:,} reports", population, held)


def _held(  # noqa: PLR0917 what is drawn, and from what
    compared: Compared, truth: Truth, name: str, population: str, draws: int, generator: np.random.Generator
) -> Held:
    channel, _ = SETTINGS[name]
    histogram = Histogram.from_channel(channel, NUMBER)
    drawn = _drawn(name, population, draws, int(generator.integers(2**63)))
    ranges = (TallyRanges.from_counts(histogram, *pair) for pair in zip(*drawn, strict=True))
    return np.array([compared(tally, truth) for tally in ranges])


@lru_cache(maxsize=len(SETTINGS) * len(POPULATIONS))
def _drawn(name: str, population: str, draws: int, seed: int) -> tuple[Counts, Floats]:
    """Return random tallies, and the histogram fitted to each.

    All figures use the same seed, and therefore the same tallies in the first measurement.
    """
    channel, reports = SETTINGS[name]
    histogram = Histogram.from_channel(channel, NUMBER)
    law = histogram.law.symbol_law(POPULATIONS[population](reports).on_grid(histogram.points.size))
    drawn = tallies(law, reports, draws, np.random.default_rng(seed))
    return drawn, shares_of(histogram, drawn / reports, smooth=True)


METHOD: Final = "parts"
BASIS: Final = "measured"

FIGURES: Final = tuple(
    Figure(name, method, BASIS, partial(_cells, compared), draws=50)
    for name, method, compared in (
        ("a quantile", f"{METHOD}, jointly at each point (Wiens 2003)", quantiles),
        ("the band of the distribution function", f"{METHOD}, with Bonferroni correction", whole_band),
        ("the share of a range", METHOD, ranges),
        ("the share of a bin", METHOD, bins),
        ("the shares of all bins together", f"{METHOD}, with Bonferroni correction", all_bins),
        ("the variance", "unbiased mean square around the mean", variance),
        ("the mean within a range (a cluster's center)", f"{METHOD}, by test inversion", mean_of_range),
    )
)
