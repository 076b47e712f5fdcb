"""The mean of a number from a tally: unbiased, with an interval valid whatever people answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import numpy as np

from estimator.decoders.decoder import LEAST_NOISE, Inverse
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import BISECTIONS, EXACT_BELOW, FEW, z_of
from estimator.statistics.intervals import betting_intervals, binomial_intervals

ENOUGH: Final = 30
"""From this number of reports per unit of kurtosis, a normal interval contains the true value with
at least 93% in the worst case (exact sums).
"""

REMEMBERED: Final = 16
"""Contrasts kept for the next window of the same metric."""


class UnbiasedScores(Protocol):
    """One score per symbol, with E[score | input x] = x, on a scale from 0 to 1.

    Source: Duchi, Jordan & Wainwright 2018, section 4.1.
    """

    @property
    def scores(self) -> Floats:
        """The score of each symbol, shape (symbols,); some may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """The number of reports from which their mean is about normal, whatever the true value."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the minimum variance of a report's score at each true mean, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """The unbiased scores of a channel of values, if each value has a position.

    Attributes:
        scores: one per symbol, shape (symbols,).
        floor: the minimum variance of one report's score among people with the same answer.
        enough: `ENOUGH` times the largest kurtosis among people with the same answer, and at least
            the number of reports that `LEAST_NOISE` requires. If epsilon is large, the few reports
            that lie carry all of the noise, and a tally may contain none of them.

    """

    scores: Floats
    floor: float
    enough: float

    @classmethod
    def from_positions(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return the contrast of positions from 0 to 1, shape (k,)."""
        scores = inverse.contrast(positions)
        squares, cubes, fourths = (inverse.expectations(scores**power) for power in (2, 3, 4))
        variances = squares - positions**2
        kurtoses = (fourths - 4 * positions * cubes + 6 * positions**2 * squares - 3 * positions**4) / variances**2
        floor = float(variances.min())
        return cls(scores, floor, max(ENOUGH * float(kurtoses.max()), LEAST_NOISE / floor))

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def remembered(inverse: Inverse, positions: tuple[float, ...]) -> Contrast:
        """Return the contrast of k positions from 0 to 1, cached for the next window."""
        return Contrast.from_positions(inverse, np.array(positions))

    def least_variance(self, means: Floats) -> float:  # noqa: ARG002 the same for every mean
        """Return the floor."""
        return self.floor


class Mean(NamedTuple):
    """An unbiased mean, its standard error, and its interval within 0..1."""

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float


def mean_of(of_symbols: UnbiasedScores, counts: Counts, reports: int, family: int = 1) -> Mean:
    """Return the mean of one tally, as `means_of` does. Without reports, its interval is 0..1."""
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    return means_of(of_symbols, counts[np.newaxis], np.array([[reports]]), family)[0]


def means_of(of_symbols: UnbiasedScores, counts: Counts, reports: Counts, family: int = 1) -> list[Mean]:
    """Return the mean of each tally on a scale from 0 to 1, for people sampled at random.

    * If scores have only two values, as those of a set's size, the interval follows from the
      binomial count of the higher one.
    * Otherwise it is the normal one if there are at least 50 reports, and either they are enough
      for every true value, or their scores vary as much as those of `FEW` people at one end among
      many at the other. Its variance is that of the observed scores, but never below the minimum
      variance of the mechanism at the estimated mean: at a large epsilon the few reports from
      outside the band carry most of the variance, and a tally may contain none of them.
    * With fewer reports, a tally may lack rare answers that matter. For example, none of 50 reports
      may come from the 2% of the people whose answer is the high end. The interval is then one that
      is valid for every true value.

    Args:
        of_symbols: the unbiased score of each symbol.
        counts: the count of each symbol, shape (tallies, m).
        reports: n, their sum, at least 1, shape (tallies, 1).
        family: the number of intervals that must be valid simultaneously.

    """
    shares = counts / reports
    means = (shares * of_symbols.scores).sum(axis=1, keepdims=True)
    deviations = (shares * (of_symbols.scores - means) ** 2).sum(axis=1, keepdims=True)
    observed = deviations * reports / np.maximum(1, reports - 1)
    variances = np.maximum(observed, of_symbols.least_variance(np.clip(means, 0.0, 1.0)))
    errors = np.sqrt(variances / reports)
    ends = _ends(of_symbols, counts, reports, means, variances, family)
    return [Mean(*figures) for figures in np.hstack([means, errors, np.clip(ends, 0.0, 1.0)]).tolist()]


def _ends(  # noqa: PLR0913, PLR0917 what is known of each mean
    of_symbols: UnbiasedScores, counts: Counts, reports: Counts, means: Floats, variances: Floats, family: int
) -> Floats:
    """Return the ends of the intervals, not clipped, shape (tallies, 2)."""
    scores, least, most = of_symbols.scores, of_symbols.scores.min(), of_symbols.scores.max()
    is_most = scores > (least + most) / 2
    if np.allclose(scores, np.where(is_most, most, least)):
        of_most = counts[:, is_most].sum(axis=1, keepdims=True)
        of_binomial: Floats = least + (most - least) * np.hstack(binomial_intervals(of_most, reports, family))
        return of_binomial
    reach = z_of(family) * np.sqrt(variances / reports)
    ends = np.hstack([means - reach, means + reach])
    is_many = (reports >= of_symbols.enough) | (reports * variances >= FEW)
    is_few = ~((reports >= EXACT_BELOW) & is_many)[:, 0]
    ends[is_few] = betting_intervals(scores, counts[is_few], family)
    return ends


def worst_variance(places: Floats, squares: Floats) -> float:
    """Return the variance of one report for a mean of places, in the worst population.

    It is the maximum, over all populations, of the mean of squares minus the squared mean place.

    The square of a mean m is the maximum of 2 t m - t**2 over t. The maximum and the minimum may be
    exchanged (von Neumann's minimax theorem), so the variance is the minimum of a convex function
    of t. A ternary search finds it.
    """

    def bound(t: float) -> float:
        return float((squares - 2 * t * places).max()) + t * t

    low, high = 0.0, 1.0
    for _ in range(2 * BISECTIONS):
        third = (high - low) / 3
        if bound(low + third) <= bound(high - third):
            high -= third
        else:
            low += third
    return bound((low + high) / 2)
