"""Unbiased estimates of the mean of a number, with intervals that are valid for any answers.

Each symbol has a score. The mean score of all reports estimates the mean answer. Means are on a
scale from 0, the low end of the range, to 1, the high end.
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
"""The minimum number of reports for a normal interval, as a multiple of a score's kurtosis.

Exact calculations show that an interval from at least this many reports contains the true value at
least 93% of the time, even in the worst case.
"""

REMEMBERED: Final = 16
"""The maximum number of `Contrast` objects in the cache."""


class UnbiasedScores(Protocol):
    """Scores of symbols. For each answer x, from 0 to 1, the expected score is x.

    Source: Duchi, Jordan & Wainwright 2018, section 4.1.
    """

    @property
    def scores(self) -> Floats:
        """The score of each symbol, shape (symbols,). Scores may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """The minimum number of reports for a normal interval, for any true mean."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the minimum variance of a score, for each true mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Scores for the unbiased estimate of a mean.

    Each input counts as a number from 0 to 1: its position. For a share, the inputs that belong to
    this share have position 1, and all other inputs have position 0.

    Attributes:
        scores: the score of each symbol, shape (symbols,).
        floor: the minimum variance of a report's score if all people give the same answer.
        enough: the minimum number of reports for normal intervals. `ENOUGH` and `LEAST_NOISE` each
            set a lower limit. The limit from `LEAST_NOISE` matters at a large epsilon, where all
            noise comes from rare reports that a tally may lack.
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
        """Return the contrast of a channel, given bounds on the channel's probabilities.

        Use this constructor for channels with too many probabilities to compute, and for channels
        in which the input alone does not determine the probabilities.

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
        """Return the cached result of `from_positions`."""
        return Contrast.from_positions(inverse, np.array(positions))

    def least_variance(self, means: Floats) -> float:  # noqa: ARG002 the same for every mean
        """Return `floor`, for every true mean."""
        return self.floor


class Mean(NamedTuple):
    """An unbiased estimate of a mean, its standard error, and its interval within 0..1."""

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float


def mean_of(of_symbols: UnbiasedScores, counts: Counts, reports: int, family: int = 1) -> Mean:
    """Return the mean of one tally. Without reports, the interval is 0..1."""
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    return means_of(of_symbols, counts[np.newaxis], np.array([[reports]]), family)[0]


def means_of(of_symbols: UnbiasedScores, counts: Counts, reports: Counts, family: int = 1) -> list[Mean]:
    """Return the mean of each tally, on a scale from 0 to 1.

    Intervals assume that the people who report are a random sample of a population. There are three
    kinds of intervals:

    * Binomial: if symbols have only two different scores, the number of reports with the higher
      score is binomial.
    * Normal: otherwise, if there are at least 50 reports and one of two conditions is met. Either
      there are at least `UnbiasedScores.enough` reports, or the variance times the number of
      reports is at least `FEW`.
    * Betting: in all other cases. A betting interval is valid for every population, even if a tally
      lacks rare answers. For example, if 2% of people answer the high end, a tally of 50 reports
      may contain none of them.

    A normal interval uses the observed variance, but at least the mechanism's minimum variance. At
    a large epsilon, most variance comes from rare reports, and a tally may lack them.

    Args:
        of_symbols: the unbiased score of each symbol.
        counts: the count of each symbol, shape (tallies, m).
        reports: the number of reports in each tally, at least 1, shape (tallies, 1).
        family: the number of simultaneous 95% intervals.
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

    Args:
        places: the position of each input, from 0 to 1, shape (k,).
        squares: the mean squared score of a report for each input, shape (k,).

    The variance is the mean squared score minus m**2, for the mean position m. The term m**2 is the
    maximum of 2 t m - t**2 over t. By von Neumann's minimax theorem, the maximum over populations
    and the minimum over t may be exchanged. The result is thus the minimum of a convex function of
    t, which a ternary search finds.
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
