"""What every inverse is: from the tally of a channel's symbols to the shares of its inputs, and the channel's law."""

from __future__ import annotations

from typing import Protocol

from estimator.statistics.arrays import Counts, Floats, Reports


class Inverse(Protocol):
    """The inverse of a channel of k inputs and m symbols; arrays in, arrays out, of one tally or of many at once."""

    def __hash__(self) -> int:
        """Inverses are kept, and what is made of them is kept by them."""

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each input's share, shape (..., k).

        It may lie outside 0..1 and is never clipped: clipping would bias it.

        Args:
            counts: of each symbol, shape (..., m).
            reports: n, their sum, at least 1.

        """

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each estimated share, shape (..., k), above 0, for people sampled at random."""

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of the shares' confidence intervals, each of shape (..., k), within 0..1.

        No interval is empty. With a family of more than one interval, all of it holds together with the confidence
        that one has by itself otherwise.
        """

    def contrast(self, weights: Floats) -> Floats:
        """Return what a report of each symbol, shape (m,), adds to the estimate of a sum of weighted shares, (k,).

        That estimate is the mean over reports; all covariances follow from it.
        """

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the most that one report can add to each estimate: shape (k,); (1,) where all are alike.

        That estimate is the mean over reports of what they add.
        """

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), in a population of such shares, shape (..., k)."""

    def expectations(self, scores: Floats) -> Floats:
        """Return what each input, shape (..., k), expects of a score of the symbol, (..., m): the law's adjoint."""
