"""What the inverses of means share: every symbol speaks for an answer, and on average for the true one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW

REMEMBERED = 16
"""Decoders of a mechanism that are kept for the next window of the same metric: some 30 kB each."""


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """An unbiased answer for each symbol, on a scale where the low end of the range is 0 and the high end 1.

    Attributes:
        answers: one a symbol; shape (symbols,).
        squares: the expected square of the answer given each input, shape (inputs,).

    """

    answers: Floats
    squares: Floats

    @property
    def enough(self) -> float:
        """From how many reports on their mean is taken for normal."""
        return EXACT_BELOW

    @property
    def most_squares(self) -> tuple[float, float]:
        """The ends, at the means 0 and 1, of a line that is nowhere below the expected square of an answer."""
        return line_above(np.linspace(0.0, 1.0, self.squares.size), self.squares)

    def least_variance(self, means: Floats) -> Floats:
        """Return the least variance that one report's answer has where the true mean is one of these, from 0 to 1.

        The expected square is convex in the input, so the least is that of a population that answers alike.
        """
        points = np.linspace(0.0, 1.0, self.squares.size)
        least: Floats = np.interp(means, points, self.squares) - means * means
        return least


def floats(exact: Iterable[Fraction]) -> Floats:
    """Return exact values as the floats nearest to them."""
    return np.array([float(value) for value in exact])


def line_above(positions: Floats, squares: Floats) -> tuple[float, float]:
    """Return the ends, at 0 and 1, of the lowest line above all squares that is parallel to that between their ends."""
    first, last = positions.argmin(), positions.argmax()
    slope = float(squares[last] - squares[first])
    at_0 = float((squares - slope * positions).max())
    return at_0, at_0 + slope
