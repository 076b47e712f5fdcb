"""The interfaces of a channel's law and of its inverse.

The law leads from the shares of inputs to the probabilities of symbols, the inverse from a tally of
symbols to the shares of inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from estimator.decoders.squares import Squares
from estimator.statistics.arrays import Counts, Floats, Reports


class ChannelLaw(Protocol):
    """The law of a channel with k inputs and m symbols, and its adjoint."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol in a population: shape (..., k) to (..., m)."""

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input: shape (..., m) to (..., k)."""


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """A law that is written out.

    Attributes:
        table: the probability of each symbol given each input, shape (k, m).

    """

    table: Floats

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        law: Floats = shares @ self.table
        return law

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input."""
        expected: Floats = scores @ self.table.T
        return expected


class Inverse(ChannelLaw, Protocol):
    """The inverse of a channel with k inputs and m symbols, for one tally or many at once.

    A report of a symbol adds the symbol's score to an estimate; the estimate is the mean of the
    scores.
    """

    def __hash__(self) -> int:
        """Inverses are cached, and are keys of the caches of their tables."""

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each input's share, shape (..., k).

        It may lie outside 0..1 and is never clipped, because clipping would bias it.

        Args:
            counts: of each symbol, shape (..., m).
            reports: n, their sum, at least 1.

        """

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), above 0.

        It describes people sampled at random.
        """

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, each of shape (..., k), within 0..1.

        No interval is empty. With a family of more than one interval, all of them hold together
        with the confidence that a single one has otherwise.
        """

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each symbol, shape (m,), for a weighted sum of shares, shape (k,).

        All covariances follow from these scores.
        """

    def squares(self, inputs: int) -> Squares:
        """Return the mean squares of what a report adds to the share of each of ``inputs``."""

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest score of a report for each estimate.

        Both have shape (k,), or (1,) if they are equal for all estimates.
        """
