"""The unbiased mean of a number from a tally, with an interval valid for any answers."""

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
"""The minimum number of reports, per unit of kurtosis, for a normal interval. The interval then has
a coverage of at least 93% in the worst case (computed by exact sums).
"""

REMEMBERED: Final = 16
"""The number of contrasts cached for further windows of the same metrics."""


class UnbiasedScores(Protocol):
    """A score for each symbol, with E[score | input x] = x, on a scale from 0 to 1.

    Source: Duchi, Jordan & Wainwright 2018, section 4.1.
    """

    @property
    def scores(self) -> Floats:
        """The score of each symbol, shape (symbols,); some may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """The minimum number of reports for which the mean is nearly normal at any true value."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the minimum variance of a report's score for each true mean from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """The unbiased scores of a channel whose inputs have positions on a scale.

    Attributes:
        scores: the score of each symbol, shape (symbols,).
        floor: the minimum variance of a report's score, over people with the same answer.
        enough: `ENOUGH` times the largest kurtosis, over people with the same answer, but at least
            the number of reports that `LEAST_NOISE` requires. If epsilon is large, all of the noise
            comes from the few reports that lie, and a tally may contain no such report.

    """

    scores: Floats
    floor: float
    enough: float

    @classmethod
    def from_positions(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return the contrast for the positions of the k inputs, from 0 to 1, shape (k,)."""
        scores = inverse.contrast(positions)
        squares, cubes, fourths = (inverse.expectations(scores**power) for power in (2, 3, 4))
        variances = squares - positions**2
        kurtoses = (fourths - 4 * positions * cubes + 6 * positions**2 * squares - 3 * positions**4) / variances**2
        floor = float(variances.min())
        return cls(scores, floor, max(ENOUGH * float(kurtoses.max()), LEAST_NOISE / floor))

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def remembered(inverse: Inverse, positions: tuple[float, ...]) -> Contrast:
        """Return the contrast for k positions from 0 to 1, cached for further windows."""
        return Contrast.from_positions(inverse, np.array(positions))

    def least_variance(self, means: Floats) -> float:  # noqa: ARG002 the same for every mean
        """Return the floor, which is the same for all true means."""
        return self.floor


class Mean(NamedTuple):
    """An unbiased mean, its standard error, and its interval, which lies within 0..1."""

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float


def mean_of(of_symbols: UnbiasedScores, counts: Counts, reports: int, family: int = 1) -> Mean:
    """Return the mean of one tally, like `means_of`. Without reports, the interval is 0..1."""
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    return means_of(of_symbols, counts[np.newaxis], np.array([[reports]]), family)[0]


def means_of(of_symbols: UnbiasedScores, counts: Counts, reports: Counts, family: int = 1) -> list[Mean]:
    """Return the mean of each tally on a scale from 0 to 1, for people sampled at random.

    * If scores have only two values, as for the size of a set, the interval follows from the
      binomial count of the higher score.
    * Otherwise, the normal interval is used if there are at least 50 reports and one more condition
      is met: either there are enough reports for every true value, or the scores vary at least as
      much as if `FEW` people were at one end of the range and all others at the other end. The
      interval uses the variance of the observed scores, or the mechanism's minimum variance at the
      estimated mean if this is larger. At a large epsilon, most of the variance comes from the few
      reports far from the true answer, and a tally may contain no such report.
    * With fewer reports, rare answers that affect the mean may be missing from a tally. For
      example, it may happen that none of 50 reports comes from the 2% of people who answer the high
      end. A betting interval, which is valid for every true value, is used instead.

    Args:
        of_symbols: the unbiased score of each symbol.
        counts: the count of each symbol, shape (tallies, m).
        reports: n, the sum of the counts, at least 1, shape (tallies, 1).
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


def _ends(  # noqa: PLR0913, PLR0917 all data about each mean
    of_symbols: UnbiasedScores, counts: Counts, reports: Counts, means: Floats, variances: Floats, family: int
) -> Floats:
    """Return the ends of the intervals, not clipped to 0..1, shape (tallies, 2)."""
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
    """Return the variance of the mean place, estimated from one report, in the worst population.

    This is the largest value, over all populations, of the mean squared score minus the square of
    the mean place.

    The square of a mean m is the maximum of 2 t m - t**2 over t. By von Neumann's minimax theorem,
    the maximum over populations and the minimum over t can be exchanged. The variance is therefore
    the minimum of a convex function of t, which a ternary search finds.
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
