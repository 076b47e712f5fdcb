"""Unbiased estimates of the mean of a number, with intervals that are valid for any answers.

Each symbol has a score, and the mean of the scores of all reports estimates the mean of the
answers. Means are on a scale from 0, the low end of the range, to 1, the high end.
"""

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
"""A normal interval needs this number of reports, times the kurtosis of a score. Exact sums show
that it then contains the true value at least 93% of the time, even in the worst case.
"""

REMEMBERED: Final = 16
"""The number of `Contrast` objects in the cache. All windows of a metric need the same object."""


class UnbiasedScores(Protocol):
    """Scores of symbols for which the expected score of a report is the sender's answer.

    Answers x are on a scale from 0 to 1, and E[score | x] = x.

    Source: Duchi, Jordan & Wainwright 2018, section 4.1.
    """

    @property
    def scores(self) -> Floats:
        """The score of each symbol, shape (symbols,). Scores may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """The minimum number of reports for which the mean is nearly normal for every true mean."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the minimum variance of a score in populations with each of the given means."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Scores that estimate a mean without bias, if each input counts as a certain number.

    This number, from 0 to 1, is called the position of the input. For a share, it is 1 for the
    counted inputs and 0 for the others.

    Attributes:
        scores: the score of each symbol, shape (symbols,).
        floor: the minimum variance of a report's score if all people give the same answer.
        enough: the minimum number of reports for normal intervals. It is `ENOUGH` times the largest
            kurtosis of the score among people with the same answer, but at least the number that
            `LEAST_NOISE` requires. If epsilon is large, all noise comes from the few reports that
            differ from the answer, and a tally may contain none of these.

    """

    scores: Floats
    floor: float
    enough: float

    @classmethod
    def from_positions(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return the scores for inputs with the given positions, from 0 to 1, shape (k,)."""
        scores = inverse.contrast(positions)
        squares, cubes, fourths = (inverse.expectations(scores**power) for power in (2, 3, 4))
        variances = squares - positions**2
        kurtoses = (fourths - 4 * positions * cubes + 6 * positions**2 * squares - 3 * positions**4) / variances**2
        floor = float(variances.min())
        return cls(scores, floor, max(ENOUGH * float(kurtoses.max()), LEAST_NOISE / floor))

    @classmethod
    def within(cls, scores: Floats, lightest: float, ratio: float) -> Contrast:
        """Return the contrast of a channel whose probabilities are known only within limits.

        This is used if the probabilities of symbols, given an input, would take too long to compute
        one by one, or depend on more than the input.

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
        """Return the scores as `from_positions` does, and keep them for other windows."""
        return Contrast.from_positions(inverse, np.array(positions))

    def least_variance(self, means: Floats) -> float:  # noqa: ARG002 the same for every mean
        """Return `floor`, which is the minimum variance for every true mean."""
        return self.floor


class Mean(NamedTuple):
    """An unbiased estimate of a mean, its standard error, and its interval, clipped to 0..1."""

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float


def mean_of(of_symbols: UnbiasedScores, counts: Counts, reports: int, family: int = 1) -> Mean:
    """Return the mean of one tally, as `means_of` does for several tallies.

    If there are no reports, the interval is 0..1.
    """
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    return means_of(of_symbols, counts[np.newaxis], np.array([[reports]]), family)[0]


def means_of(of_symbols: UnbiasedScores, counts: Counts, reports: Counts, family: int = 1) -> list[Mean]:
    """Return the mean of each tally, on a scale from 0 to 1.

    Intervals assume that the people who report are a random sample of a population.

    * If symbols have only two different scores, as for the size of a set, the number of reports
      with the higher score is binomial, and its interval is converted to an interval of the mean.
    * Otherwise, a normal interval is used under two conditions. There are at least 50 reports. In
      addition, there are at least `UnbiasedScores.enough` reports, or the variance of the scores is
      large. Large means at least the variance of answers of which `FEW` are at one end of the range
      and all others at the other end. The interval uses the variance of the observed scores, but at
      least the minimum variance that the mechanism causes at the estimated mean. At a large
      epsilon, most of the variance comes from the few reports that are far from the true answer. A
      tally may contain no such report.
    * In all other cases, a betting interval is used, which is valid for every population. A normal
      interval could be wrong, because a tally may lack rare answers that affect the mean. For
      example, if 2% of people answer the high end, it may happen that none of them is among 50
      reports.

    Args:
        of_symbols: the unbiased score of each symbol.
        counts: the count of each symbol, shape (tallies, m).
        reports: the number of reports in each tally, at least 1, shape (tallies, 1).
        family: the number of intervals that must be valid simultaneously, with 95% confidence.

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
    """Return both ends of each tally's interval, not clipped to 0..1, shape (tallies, 2)."""
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
    """Return the largest variance of a mean estimated from one report, over all populations.

    In a population, the variance is the mean squared score minus the square of the mean position.

    Args:
        places: the position of each input, from 0 to 1, shape (k,).
        squares: the mean squared score of a report for each input, shape (k,).

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
