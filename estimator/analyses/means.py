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
"""A normal interval needs this number of reports, times the kurtosis. The interval then contains
the true value at least 93% of the time in the worst case, according to exact sums.
"""

REMEMBERED: Final = 16
"""The number of `Contrast` objects cached for further windows of the same metrics."""


class UnbiasedScores(Protocol):
    """A score for each symbol, with E[score | input x] = x, on a scale from 0 to 1.

    Source: Duchi, Jordan & Wainwright 2018, section 4.1.
    """

    @property
    def scores(self) -> Floats:
        """The score of each symbol, shape (symbols,); some may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """The minimum number of reports that makes the mean nearly normal at any true value."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the minimum variance of a report's score for each true mean from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Scores with which a channel's mean is unbiased. Each input of the channel has a position.

    Attributes:
        scores: the score of each symbol, shape (symbols,).
        floor: the minimum variance of a report's score if all people give the same answer.
        enough: `ENOUGH` times the largest kurtosis of the score if all people give the same answer,
            but at least the number of reports that `LEAST_NOISE` requires. If epsilon is large, all
            of the noise comes from the few false reports, and a tally may contain none.

    """

    scores: Floats
    floor: float
    enough: float

    @classmethod
    def from_positions(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return the scores for inputs with these positions, from 0 to 1, shape (k,)."""
        scores = inverse.contrast(positions)
        squares, cubes, fourths = (inverse.expectations(scores**power) for power in (2, 3, 4))
        variances = squares - positions**2
        kurtoses = (fourths - 4 * positions * cubes + 6 * positions**2 * squares - 3 * positions**4) / variances**2
        floor = float(variances.min())
        return cls(scores, floor, max(ENOUGH * float(kurtoses.max()), LEAST_NOISE / floor))

    @classmethod
    def within(cls, scores: Floats, lightest: float, ratio: float) -> Contrast:
        """Return the contrast of a channel of which only the range of its law is known.

        Args:
            scores: the unbiased score of each symbol, shape (symbols,).
            lightest: the smallest probability of a symbol.
            ratio: the largest probability of a symbol, divided by the smallest.

        """
        floor = lightest * float(((scores - scores.mean()) ** 2).sum())
        # the fourth moment is a convex function of the mean, so it is largest at an end
        fourth = ratio * lightest * float(max(((scores - end) ** 4).sum() for end in (0.0, 1.0)))
        return cls(scores, floor, max(ENOUGH * fourth / floor**2, LEAST_NOISE / floor))

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def remembered(inverse: Inverse, positions: tuple[float, ...]) -> Contrast:
        """Return the scores for inputs with these positions, cached for further windows."""
        return Contrast.from_positions(inverse, np.array(positions))

    def least_variance(self, means: Floats) -> float:  # noqa: ARG002 the same for every mean
        """Return the minimum variance, which is the same for all true means."""
        return self.floor


class Mean(NamedTuple):
    """An unbiased mean, its standard error, and its interval clipped to 0..1."""

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

    * If scores have only two values, as for the size of a set, the interval is a binomial interval
      for the number of reports with the higher score.
    * Otherwise, the normal interval is used with at least 50 reports if one of two conditions is
      met: the reports are enough for every true value, or the scores have a large enough variance.
      The variance is large enough if it is at least that of a population with `FEW` people at one
      end of the range and all others at the other end. The interval uses the variance of the
      observed scores, or the mechanism's minimum variance at the estimated mean if this is larger.
      At a large epsilon, most of the variance comes from the few reports far from the true answer,
      and a tally may contain no such report.
    * In all other cases, a betting interval is used, which is valid for every true value. A tally
      may then lack rare answers that affect the mean. For example, if 2% of people answer the high
      end, it may happen that none of them is among 50 reports.

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
    """Return the largest variance of a mean position estimated from one report.

    The variance is the mean squared score minus the square of the mean position. The largest value
    is taken over all populations.

    The square of a mean m is the maximum of 2 t m - t**2 over t. By von Neumann's minimax theorem,
    maximizing over populations and minimizing over t may be exchanged. The largest variance is
    therefore the minimum of a convex function of t, which a ternary search finds.
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
