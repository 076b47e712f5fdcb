"""The mean of a number from a tally: unbiased, with an interval that is safe with few reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from estimator.inverse.decoder import line_above
from estimator.inverse.protocol import Inverse
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.statistics.score_intervals import bounded_intervals

ENOUGH = 30
"""Reports per unit of kurtosis from which a normal interval holds the worst truth with at least 93
% (exact sums)."""


REMEMBERED = 16
"""Contrasts kept for the next window of the same metric."""


class UnbiasedScores(Protocol):
    """One score a symbol with E[score | input x] = x, on a scale from 0 to 1.

    Source: Duchi, Jordan & Wainwright 2018, section 4.1.
    """

    @property
    def scores(self) -> Floats:
        """The score of each symbol, shape (symbols,); some may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """The number of reports from which their mean is about normal, whatever the truth."""

    @property
    def most_squares(self) -> tuple[float, float]:
        """The ends, at the means 0 and 1, of a line not below the expected square of a score."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the least variance of a report's score at each true mean, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """The unbiased scores of a channel of values, if each value has a position.

    Attributes:
        scores: one a symbol, shape (symbols,).
        floor: the least variance of one report's score among people with the same answer.
        enough: `ENOUGH` times the largest kurtosis among people with the same answer. If epsilon is
            large, the few reports that lie carry all of the variance, and a tally may hold none of
            them.
        most_squares: the ends of a line nowhere below the expected square of a score.

    """

    scores: Floats
    floor: float
    enough: float
    most_squares: tuple[float, float]

    @classmethod
    def of(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return the contrast of positions from 0 to 1, shape (k,)."""
        scores = inverse.contrast(positions)
        squares, cubes, fourths = (inverse.expectations(scores**power) for power in (2, 3, 4))
        variances = squares - positions**2
        kurtoses = (fourths - 4 * positions * cubes + 6 * positions**2 * squares - 3 * positions**4) / variances**2
        return cls(scores, float(variances.min()), ENOUGH * float(kurtoses.max()), line_above(positions, squares))

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def remembered(inverse: Inverse, positions: tuple[float, ...]) -> Contrast:
        """Return the contrast of k positions from 0 to 1, cached for the next window."""
        return Contrast.of(inverse, np.array(positions))

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
    """Return the mean of one tally, as `means_of` does. Without reports everything is possible."""
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    return means_of(of_symbols, counts[np.newaxis], np.array([[reports]]), family)[0]


def means_of(of_symbols: UnbiasedScores, counts: Counts, reports: Counts, family: int = 1) -> list[Mean]:
    """Return the mean of each tally on a scale from 0 to 1, for people sampled at random.

    * From 50 reports on, if they are enough, the interval is the normal one. Its variance is that
      of the observed scores, but never below the least variance of the mechanism at the estimated
      mean: at a large epsilon the few reports from outside the band carry most of the variance, and
      a tally may hold none of them.
    * With fewer reports, or too few for the mean to be normal, the interval holds at every truth.

    Args:
        of_symbols: the unbiased score of each symbol.
        counts: of each symbol, shape (tallies, m).
        reports: n, their sum, at least 1, shape (tallies, 1).
        family: the number of intervals that are to hold together.

    """
    shares = counts / reports
    means = (shares * of_symbols.scores).sum(axis=1, keepdims=True)
    strays = (shares * (of_symbols.scores - means) ** 2).sum(axis=1, keepdims=True)
    observed = strays * reports / np.maximum(1, reports - 1)
    errors = np.sqrt(np.maximum(observed, of_symbols.least_variance(np.clip(means, 0.0, 1.0))) / reports)
    reach = z_of(family) * errors
    at_0, at_1 = of_symbols.most_squares
    safe = bounded_intervals(means, at_1, at_0, np.ptp(of_symbols.scores), reports, family)
    is_few = reports < max(EXACT_BELOW, of_symbols.enough)
    ends = np.clip(np.where(is_few, safe, (means - reach, means + reach)), 0.0, 1.0)
    return [Mean(*figures) for figures in np.hstack([means, errors, *ends]).tolist()]
