"""The mean of a number from a tally: unbiased, with an interval that is safe where reports are few."""

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
"""Reports a unit of kurtosis, from which on a normal interval holds the worst truth with at least 93 % (exact sums)."""


REMEMBERED = 16
"""Contrasts that are kept for the next window of the same metric."""


class Spoken(Protocol):
    """What each symbol speaks for, on a scale from 0 to 1, so that on average it is the truth."""

    @property
    def answers(self) -> Floats:
        """One a symbol, shape (symbols,); some may lie far outside 0..1."""

    @property
    def enough(self) -> float:
        """From how many reports on their mean is about normal, whatever the truth."""

    @property
    def most_squares(self) -> tuple[float, float]:
        """The ends, at the means 0 and 1, of a line that is nowhere below the expected square of an answer."""

    def least_variance(self, means: Floats) -> Floats | float:
        """Return the least variance that one report's answer has where the true mean is one of these, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """What the symbols of a channel of values speak for, where each value has a position.

    Attributes:
        answers: one a symbol, shape (symbols,).
        floor: the least variance of one report's answer among people who answer alike.
        enough: as many reports as `ENOUGH` times the largest kurtosis among people who answer alike: where epsilon is
            large the few reports that lie carry all of the variance, and there may be none among them.
        most_squares: the ends of a line that is nowhere below the expected square of an answer.

    """

    answers: Floats
    floor: float
    enough: float
    most_squares: tuple[float, float]

    @classmethod
    def of(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return that of positions from 0 to 1, shape (k,)."""
        answers = inverse.contrast(positions)
        squares, cubes, fourths = (inverse.expectations(answers**power) for power in (2, 3, 4))
        variances = squares - positions**2
        kurtoses = (fourths - 4 * positions * cubes + 6 * positions**2 * squares - 3 * positions**4) / variances**2
        return cls(answers, float(variances.min()), ENOUGH * float(kurtoses.max()), line_above(positions, squares))

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def remembered(inverse: Inverse, positions: tuple[float, ...]) -> Contrast:
        """Return that of positions from 0 to 1, k of them: the next window of the same metric has the same."""
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


def mean_of(spoken: Spoken, counts: Counts, reports: int, family: int = 1) -> Mean:
    """Return the mean of one tally, as `means_of`; with 0 reports everything is possible."""
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    return means_of(spoken, counts[np.newaxis], np.array([[reports]]), family)[0]


def means_of(spoken: Spoken, counts: Counts, reports: Counts, family: int = 1) -> list[Mean]:
    """Return the mean of each tally on a scale from 0 to 1, of people sampled at random.

    * From 50 reports on, if they are enough, the interval is the normal one. Its variance is that of the answers that
      were observed, but never less than the least that the mechanism has at the estimated mean: at a large epsilon the
      few reports from outside the band carry most of the variance, and there may be none among them.
    * Fewer reports, or too few for the mean to be normal, get an interval that holds at every truth.

    Args:
        spoken: what a symbol speaks for.
        counts: the count of each symbol, shape (tallies, m).
        reports: n, their sum, at least 1, shape (tallies, 1).
        family: how many intervals shall hold together.

    """
    shares = counts / reports
    means = (shares * spoken.answers).sum(axis=1, keepdims=True)
    strays = (shares * (spoken.answers - means) ** 2).sum(axis=1, keepdims=True)
    observed = strays * reports / np.maximum(1, reports - 1)
    errors = np.sqrt(np.maximum(observed, spoken.least_variance(np.clip(means, 0.0, 1.0))) / reports)
    reach = z_of(family) * errors
    at_0, at_1 = spoken.most_squares
    safe = bounded_intervals(means, at_1, at_0, np.ptp(spoken.answers), reports, family)
    is_few = reports < max(EXACT_BELOW, spoken.enough)
    ends = np.clip(np.where(is_few, safe, (means - reach, means + reach)), 0.0, 1.0)
    return [Mean(*one) for one in np.hstack([means, errors, *ends]).tolist()]
