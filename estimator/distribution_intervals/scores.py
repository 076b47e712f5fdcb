"""Unbiased scores for the integral of a number's distribution function.

An answer between two grid points is rounded at random to one of them. The probability that it is
rounded to point j or a lower one is the mean of its step function over the cell from point j to
point j + 1. So the shares of the grid's points, added up to j, are the mean of the distribution
function F over that cell: exactly, for every population. With counts, whose points are the answers,
F is constant on a cell, and the same holds.

The scores are the inverse of the channel with the least variance for evenly spread answers
(generalised least squares; Aitken 1936, "On least squares and linear combinations of
observations").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from estimator.decoders.decoder import REMEMBERED
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of a channel with k inputs, the points of a grid, and m symbols.

    Attributes:
        shares: the unbiased score of each symbol for the share of each input, shape (m, k).
        integrals: the score of each symbol for the integral of F from the first point to point b,
            in cells, for b = 0..k; shape (m, k + 1). Beyond the last point F is 1.

    """

    shares: Floats
    integrals: Floats

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def of(histogram: Histogram) -> Scores:
        """Return the scores of a histogram's channel, cached for the next window."""
        inputs = histogram.bins + (not histogram.is_of_points)
        law = histogram.law.symbol_law(np.eye(inputs))
        weighted = law / law.mean(axis=0)
        shares = np.linalg.solve(weighted @ law.T, weighted).T
        sums = np.cumsum(np.cumsum(shares, axis=1), axis=1)
        return Scores(shares, np.concatenate([np.zeros((len(sums), 1)), sums], axis=1))

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each symbol, shape (m,), for a weighted sum of shares, shape (k,)."""
        score: Floats = self.shares @ weights
        return score
