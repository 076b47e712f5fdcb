"""The interfaces of a channel's law and of its inverse.

The law leads from the shares of inputs to the probabilities of symbols, the inverse from a tally of
symbols to the shares of inputs. From the mean squares of what one report adds to a share
(`Squares`) follows every variance of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.confidence import EXACT_BELOW


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """Mean squares of what a report adds to the estimate of a share.

    There is an entry for each value, or one for all values alike.

    Attributes:
        inputs: how many values there are.
        own: if the value is the sender's answer; shape (inputs,) or (1,), as the two below.
        other: if it is not, for the answer with the largest square.
        average: if it is not, averaged over the other answers.
        support: how often a report supports the sender's answer, and any other value. None where
            more matters.
        least_reports: from how many reports on the interval of a share is that of many reports.

    """

    inputs: int
    own: Floats
    other: Floats
    average: Floats
    support: tuple[float, float] | None = None
    least_reports: int = EXACT_BELOW

    @property
    def uniform(self) -> float:
        """The variance of a share where all shares are alike."""
        share = 1 / self.inputs
        return float((self.own * share + self.average * (1 - share) - share**2).max())

    @property
    def worst(self) -> float:
        """The variance of a share in the worst population for it."""
        share = np.clip((self.own - self.other) / 2, 0.0, 1.0)
        return float((self.own * share + self.other * (1 - share) - share**2).max())

    def variance(self, share: float) -> float:
        """Return the variance of a share in the worst population that has it."""
        return float((self.own * share + self.other * (1 - share) - share**2).max())


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
