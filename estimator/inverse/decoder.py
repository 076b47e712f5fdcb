"""The common part of the inverses for means: an unbiased score for each symbol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW

REMEMBERED = 16
"""Decoders kept for the next window of the same metric: some 30 kB each."""


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """One unbiased score a symbol, where 0 is the low end of the range and 1 the high end.

    Attributes:
        scores: one a symbol, shape (symbols,).
        squares: the expected square of the score given each input, shape (inputs,).

    """

    scores: Floats
    squares: Floats

    @property
    def enough(self) -> float:
        """The number of reports from which their mean is treated as normal."""
        return EXACT_BELOW

    @property
    def most_squares(self) -> tuple[float, float]:
        """The ends, at the means 0 and 1, of a line not below the expected square of a score."""
        return line_above(np.linspace(0.0, 1.0, self.squares.size), self.squares)

    def least_variance(self, means: Floats) -> Floats:
        """Return the least variance of a report's score at each true mean, from 0 to 1.

        The expected square is convex in the input, so the least variance is that of people with the
        same answer.
        """
        points = np.linspace(0.0, 1.0, self.squares.size)
        least: Floats = np.interp(means, points, self.squares) - means * means
        return least


def floats(exact: Iterable[Fraction]) -> Floats:
    """Return exact values as the nearest floats."""
    return np.array([float(value) for value in exact])


def line_above(positions: Floats, squares: Floats) -> tuple[float, float]:
    """Return the ends, at 0 and 1, of a line above all squares.

    It is the lowest line parallel to the one through the first and the last square.
    """
    first, last = positions.argmin(), positions.argmax()
    slope = float(squares[last] - squares[first])
    at_0 = float((squares - slope * positions).max())
    return at_0, at_0 + slope
