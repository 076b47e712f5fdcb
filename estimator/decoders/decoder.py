"""The common part of the inverses for means: an unbiased score for each symbol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from estimator.statistics.arrays import Floats
from estimator.statistics.convex_minorant import convex_minorant

REMEMBERED = 16
"""Decoders kept for the next window of the same metric: some 30 kB each."""

LEAST_NOISE: Final = 6
"""The least variance, in squares of the range, that the mechanism must give to a sum of scores for
its mean to be about normal. Where it gives less, a few people at an end of the range may outweigh
it, and a tally that holds none of them does not show it: the skewness of a sum with noise of
variance v is at most 2 / sqrt(27 v). With 6, normal intervals hold the worst truth with at least 93
% (measured).
"""


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """One unbiased score a symbol, where 0 is the low end of the range and 1 the high end.

    Attributes:
        scores: one a symbol, shape (symbols,).
        squares: the expected square of the score given each input, shape (inputs,).
        least_squares: the least expected square of people whose mean is each input: some of them
            may answer below it and some above. Shape (inputs,).

    """

    scores: Floats
    squares: Floats
    least_squares: Floats = field(init=False, repr=False)
    least_noises: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find both once, because a job uses them in every window."""
        points = np.linspace(0.0, 1.0, self.squares.size)
        object.__setattr__(self, "least_squares", convex_minorant(self.squares))
        object.__setattr__(self, "least_noises", convex_minorant(self.squares - points * points))

    @property
    def enough(self) -> float:
        """The number of reports from which their mean is about normal, whatever the truth."""
        return LEAST_NOISE / float(self.least_variance(np.linspace(0.0, 1.0, self.squares.size)).min())

    def least_variance(self, means: Floats) -> Floats:
        """Return the least variance of a report's score at each true mean, from 0 to 1.

        Where the expected square is convex in the input, that is the variance of people with the
        same answer.
        """
        points = np.linspace(0.0, 1.0, self.squares.size)
        least: Floats = np.interp(means, points, self.least_squares) - means * means
        return least

    def least_noise(self, mean: float) -> float:
        """Return the least variance that the mechanism adds to answers with a true mean.

        It may be below `least_variance`, in which people with that mean differ as little as they
        can. If they differ more, and the noise is less at their answers, more of the variance is
        theirs.
        """
        return float(np.interp(mean, np.linspace(0.0, 1.0, self.squares.size), self.least_noises))


def floats(exact: Iterable[Fraction]) -> Floats:
    """Return exact values as the nearest floats."""
    return np.array([float(value) for value in exact])
