"""The scale on which answers are averaged: as they are, or as logarithms."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
from msgspec.structs import replace

from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Floats

Ends = tuple[float, float]
"""The smallest and the largest possible figure."""


class Scale:
    """Answers are averaged as they are.

    Attributes:
        is_relative: whether errors on the scale are parts of 1 + the figure.

    """

    is_relative: ClassVar[bool] = False

    def inner(self, figures: Floats) -> Floats:
        """Return the means from which figures are derived."""
        return figures

    def outer(self, means: Floats) -> Floats:
        """Return the figures shown for means."""
        return means

    def inner_ends(self, ends: Ends) -> Ends:
        """Return the means from which the ends of a range of figures are derived."""
        low, high = self.inner(np.array(ends)).tolist()
        return low, high

    def slopes(self, figures: Floats) -> Floats:
        """Return the derivatives of figures by the means from which they are derived."""
        return np.ones_like(figures)

    def shown(self, mean: Estimate, ends: Ends) -> Estimate:  # noqa: ARG002 of logarithms
        """Return the figure shown for a mean."""
        return mean

    def moves(self, figures: Floats, downs: Floats, ups: Floats, ends: Ends) -> tuple[Floats, Floats]:  # noqa: ARG002 of logarithms
        """Return how far figures move, down and up, if their means move by the given distances."""
        return downs, ups


class LogScale(Scale):
    """The logarithms of 1 + x are averaged; the figure is the geometric mean of 1 + x, minus 1.

    The mean of logarithms has an unbiased estimate and an interval like any other mean. Both ends
    of the interval are mapped, so it contains the geometric mean equally often. A figure beyond its
    range is shown as the end, because the exponential of a distant one would overflow.
    """

    is_relative = True

    def inner(self, figures: Floats) -> Floats:
        """Return the logarithms of 1 + x."""
        logarithms: Floats = np.log1p(figures)
        return logarithms

    def outer(self, means: Floats) -> Floats:
        """Return the exponentials, minus 1."""
        exponentials: Floats = np.expm1(means)
        return exponentials

    def slopes(self, figures: Floats) -> Floats:
        """Return 1 + x, the derivative of the exponential."""
        return 1 + figures

    def shown(self, mean: Estimate, ends: Ends) -> Estimate:
        """Return the geometric mean; its standard error is of first order."""
        least, greatest = self.inner_ends(ends)

        def geometric(logarithm: float) -> float:
            return min(ends[1], max(ends[0], float(np.expm1(min(greatest, max(least, logarithm))))))

        low, high = geometric(mean.low), geometric(mean.high)
        if mean.estimate is None:
            return replace(mean, low=low, high=high)
        estimate = geometric(mean.estimate)
        error = None if mean.standard_error is None else mean.standard_error * (1 + estimate)
        return replace(mean, estimate=estimate, standard_error=error, low=low, high=high)

    def moves(self, figures: Floats, downs: Floats, ups: Floats, ends: Ends) -> tuple[Floats, Floats]:
        """Return the distances to the geometric means of moved logarithms, within the range."""
        (least, greatest), logarithms = self.inner_ends(ends), self.inner(figures)
        highest, lowest = np.minimum(logarithms + downs, greatest), np.maximum(logarithms - ups, least)
        return np.maximum(self.outer(highest) - figures, 0.0), np.maximum(figures - self.outer(lowest), 0.0)


PLAIN: Final = Scale()
LOG: Final = LogScale()
