"""What the inverses of balanced channels share: a value's support count is binomial, whatever the other shares are.

A symbol supports some values. A report supports a value with probability p if it is the sender's answer and q if it is
not, so of n reports of independently sampled people the count is binomial with probability P = q + (p - q) * share.
(Wang, Blocki, Li & Jha 2017, "Locally differentially private protocols for frequency estimation", section 3: pure
protocols.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np

from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.binomial_intervals import binomial_intervals

FEW_SYMBOLS = 2**8
"""Up to so many a table of who supports what, of at most half a MB, is quicker than transforms."""

REMEMBERED = 16
"""Tables that are kept for the next window of the same metric."""


Numbers = TypeVar("Numbers", Floats, Counts)


@dataclass(frozen=True, slots=True)
class Support:
    """The two probabilities of support, exact; where each symbol supports the value it names, an `Inverse`.

    Attributes:
        own: p, how often a report supports the sender's answer.
        other: q, how often it supports a given other value; below p.
        slope: how much the estimated share rises with the frequency of support: 1 / (p - q).
        intercept: the estimated share where nothing supports the value: -q / (p - q).

    """

    own: Fraction
    other: Fraction
    slope: Fraction = field(init=False, compare=False)
    intercept: Fraction = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Divide once: a job asks for both in every window, and fractions are slow."""
        object.__setattr__(self, "slope", 1 / (self.own - self.other))
        object.__setattr__(self, "intercept", -self.other * self.slope)

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k).

        It may lie outside 0..1 and is never clipped: clipping would bias it.

        Args:
            counts: the support count of each value, shape (..., k).
            reports: n, at least 1.

        """
        return float(self.slope) * (counts / reports) + float(self.intercept)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each estimated share, shape (..., k), for people sampled at random.

        It is sqrt(P (1 - P) / n) / (p - q) at the frequency of support P that was observed, moved into q..p, which
        holds every possible one; so it is above 0 even if no report, or every report, supports the value.
        """
        frequency = np.clip(counts / reports, float(self.other), float(self.own))
        errors: Floats = float(self.slope) * np.sqrt(frequency * (1 - frequency) / reports)
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' confidence intervals: those of the support's probability, mapped and clipped.

        None is empty: where a whole interval lies beyond an end of 0..1, that end remains.
        """
        slope, intercept = float(self.slope), float(self.intercept)
        low, high = (
            np.clip(slope * bound + intercept, 0.0, 1.0) for bound in binomial_intervals(counts, reports, family)
        )
        return low, high

    def contrast(self, weights: Floats) -> Floats:
        """Return what a report of each symbol adds to the estimate of a weighted sum of shares."""
        summed: Floats = float(self.slope) * weights + float(self.intercept) * weights.sum()
        return summed

    def extremes(self) -> tuple[Floats, Floats]:
        """Return what a report adds that does not support a value, and what one adds that does; shape (1,)."""
        return np.array([float(self.intercept)]), np.array([float(self.slope + self.intercept)])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, where each supports the value it names, shape (..., k)."""
        law: Floats = float(self.other) + float(self.own - self.other) * shares
        return law

    def expectations(self, scores: Floats) -> Floats:
        """Return what each input expects of a score of the symbol, where each symbol supports the value it names."""
        expected: Floats = float(self.other) * _sum(scores) + float(self.own - self.other) * scores
        return expected


class Incidence(Protocol):
    """Which symbols support which values, as operators."""

    def __hash__(self) -> int:
        """Tables of who supports what are kept by these."""

    def of_values(self, scores: Floats) -> Floats:
        """Return for each value, shape (..., k), the sum of the scores, (..., m), of the symbols that support it."""

    def of_symbols(self, shares: Floats) -> Floats:
        """Return for each symbol, shape (..., m), the sum of the shares, (..., k), of the values that it supports."""


@lru_cache(maxsize=REMEMBERED)
def _table(incidence: Incidence, symbols: int) -> Floats:
    """Return 1 where a symbol supports a value and else 0, shape (k, m)."""
    table: Floats = np.rint(incidence.of_values(np.eye(symbols))).T
    return table


@dataclass(frozen=True, slots=True)
class Block:
    """The law of a design: the chance of each symbol that supports the answer, and of each that does not."""

    supporting: float
    others: float

    def symbol_law(self, incidence: Incidence, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), in a population of such shares."""
        law: Floats = self.others * _sum(shares) + (self.supporting - self.others) * incidence.of_symbols(shares)
        return law

    def expectations(self, incidence: Incidence, scores: Floats) -> Floats:
        """Return what each input, shape (..., k), expects of a score of the symbol."""
        expected: Floats = self.others * _sum(scores) + (self.supporting - self.others) * incidence.of_values(scores)
        return expected


@dataclass(frozen=True, slots=True)
class Balanced:
    """The inverse of a balanced design: every two values are supported by equally many common symbols.

    Attributes:
        support: the probabilities of a value's support, of whichever symbol.
        block: the law.
        incidence: which symbols support which values.

    """

    support: Support
    block: Block
    incidence: Incidence

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        return self.support.shares(self.support_counts(counts), reports)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each estimated share, shape (..., k), for people sampled at random."""
        return self.support.standard_errors(self.support_counts(counts), reports)

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' confidence intervals: those of binomial support counts."""
        return self.support.intervals(self.support_counts(counts), reports, family)

    def contrast(self, weights: Floats) -> Floats:
        """Return what a report of each symbol adds to the estimate of a weighted sum of shares."""
        supported = self.incidence.of_symbols(weights)
        summed: Floats = float(self.support.slope) * supported + float(self.support.intercept) * weights.sum()
        return summed

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the most that a report adds to each estimate; shape (1,)."""
        return self.support.extremes()

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), in a population of such shares."""
        return self.block.symbol_law(self.incidence, shares)

    def expectations(self, scores: Floats) -> Floats:
        """Return what each input, shape (..., k), expects of a score of the symbol."""
        return self.block.expectations(self.incidence, scores)

    def support_counts(self, counts: Counts) -> Counts:
        """Return how many reports support each value, shape (..., k).

        The transform's sums are rounded to the integers that they are; beyond some 10**13 reports the last digits
        are no longer exact, which is far below the noise.
        """
        symbols, floats = counts.shape[-1], counts.astype(np.float64)
        table = _table(self.incidence, symbols) if symbols <= FEW_SYMBOLS else None
        sums = np.rint(self.incidence.of_values(floats) if table is None else floats @ table.T)
        return np.clip(sums, 0, _sum(counts)).astype(np.int64)


def _sum(values: Numbers) -> Numbers:
    """Return the sum of each row, beside which the row can stand: shape (..., k) to (..., 1)."""
    summed: Numbers = values.sum(axis=-1, keepdims=True)
    return summed
