"""The inverses of balanced channels, computed from how many reports support each value.

Each symbol supports some of the values. In randomized response, for instance, a symbol supports the
value that it names. In a balanced channel, a report supports the sender's answer with probability
p, and any other value with probability q. Let f be the share of people with a value, and n the
number of reports. The number of reports that support the value is binomial with probability
P = q + (p - q) f. The shares of other values do not matter. Wang, Blocki, Li & Jha 2017, "Locally
differentially private protocols for frequency estimation", section 3, call such protocols pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE, Channel
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.one_of import OneOf
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from estimator.decoders.decoder import Squares
from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.intervals import binomial_intervals

FEW_SYMBOLS = 2**8
"""The maximum number of symbols for counting support with a table."""

REMEMBERED = 16
"""The maximum number of tables in the cache."""


Numbers = TypeVar("Numbers", Floats, Counts)


@dataclass(frozen=True, slots=True)
class Support:
    """The probabilities of support: p for the sender's answer, and q for any other value.

    If each symbol supports only its own value, this class also implements `Inverse`. The counts of
    symbols are then the numbers of supporting reports.

    Attributes:
        own: p, the probability that a report supports the sender's answer.
        other: q, the probability that a report supports one particular other value; below p.
        slope: 1 / (p - q). The estimated share is slope * (frequency of support) + intercept.
        intercept: -q / (p - q), the estimated share of a value that no report supports.
    """

    own: Fraction
    other: Fraction
    slope: Fraction = field(init=False, compare=False)
    intercept: Fraction = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Compute slope and intercept only once, because exact fractions are slow."""
        object.__setattr__(self, "slope", 1 / (self.own - self.other))
        object.__setattr__(self, "intercept", -self.other * self.slope)

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k).

        ``counts`` contains the number of reports that support each value. An estimate may lie
        outside 0..1. Clipping would bias the estimate.
        """
        return float(self.slope) * (counts / reports) + float(self.intercept)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), above 0.

        The standard error is sqrt(P (1 - P) / n) / (p - q). P is the observed frequency of support,
        clipped to the possible range q..p.
        """
        frequency = np.clip(counts / reports, float(self.other), float(self.own))
        errors: Floats = float(self.slope) * np.sqrt(frequency * (1 - frequency) / reports)
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Convert intervals of support frequencies to intervals of shares.

        The ends are clipped to 0..1. No interval is empty: an interval below 0 becomes 0 to 0, and
        an interval above 1 becomes 1 to 1.
        """
        slope, intercept = float(self.slope), float(self.intercept)
        low, high = (
            np.clip(slope * bound + intercept, 0.0, 1.0) for bound in binomial_intervals(counts, reports, family)
        )
        return low, high

    def contrast(self, weights: Floats) -> Floats:
        """Return each symbol's score in the estimate of a weighted sum of shares, shape (m,)."""
        summed: Floats = float(self.slope) * weights + float(self.intercept) * weights.sum()
        return summed

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's value and for other values."""
        p, q = float(self.own), float(self.other)
        most, least = float(self.slope + self.intercept) ** 2, float(self.intercept) ** 2
        own, other = (np.array([chance * most + (1 - chance) * least]) for chance in (p, q))
        return Squares(inputs, own, other, other, (p, q))

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the score of a report that does not support a value, and of a report that does.

        Each array has shape (1,), because all values have the same scores.
        """
        return np.array([float(self.intercept)]), np.array([float(self.slope + self.intercept)])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., k), for shares of the values."""
        law: Floats = float(self.other) + float(self.own - self.other) * shares
        return law

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score of a report for each input, shape (..., k)."""
        expected: Floats = float(self.other) * _sum(scores) + float(self.own - self.other) * scores
        return expected


class Incidence(Protocol):
    """Sums over the values that a symbol supports, and over the symbols that support a value."""

    def __hash__(self) -> int:
        """Return a hash for caches."""

    def of_values(self, scores: Floats) -> Floats:
        """Return, for each value, the sum of the scores of symbols that support it."""

    def of_symbols(self, shares: Floats) -> Floats:
        """Return, for each symbol, the sum of the shares of the values that it supports."""


@lru_cache(maxsize=REMEMBERED)
def _table(incidence: Incidence, symbols: int) -> Floats:
    """Return a table of values and symbols, shape (k, m): 1 for support and 0 for no support."""
    table: Floats = np.rint(incidence.of_values(np.eye(symbols))).T
    return table


@dataclass(frozen=True, slots=True)
class Block:
    """The probabilities of a symbol that supports the sender's answer, and of any other symbol."""

    supporting: float
    others: float

    def symbol_law(self, incidence: Incidence, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), given shares of shape (..., k)."""
        law: Floats = self.others * _sum(shares) + (self.supporting - self.others) * incidence.of_symbols(shares)
        return law

    def expectations(self, incidence: Incidence, scores: Floats) -> Floats:
        """Return the expected score of a report for each input, given scores of shape (..., m)."""
        expected: Floats = self.others * _sum(scores) + (self.supporting - self.others) * incidence.of_values(scores)
        return expected


@dataclass(frozen=True, slots=True)
class Balanced:
    """The inverse of a balanced channel whose symbols support several values.

    Any two values have the same number of symbols that support both.

    Attributes:
        support: the probability that a report supports the sender's answer, and the probability
            that the report supports another value.
        block: the distribution of the symbols.
        incidence: the sums over the values that a symbol supports, and over the symbols that
            support a value.
    """

    support: Support
    block: Block
    incidence: Incidence

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        return self.support.shares(self.support_counts(counts), reports)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k)."""
        return self.support.standard_errors(self.support_counts(counts), reports)

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, computed from the support counts."""
        return self.support.intervals(self.support_counts(counts), reports, family)

    def contrast(self, weights: Floats) -> Floats:
        """Return each symbol's score in the estimate of a weighted sum of shares, shape (m,)."""
        supported = self.incidence.of_symbols(weights)
        summed: Floats = float(self.support.slope) * supported + float(self.support.intercept) * weights.sum()
        return summed

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's value and for other values."""
        return self.support.squares(inputs)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of any symbol, each of shape (1,)."""
        return self.support.extremes()

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), given shares of shape (..., k)."""
        return self.block.symbol_law(self.incidence, shares)

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score of a report for each input, given scores of shape (..., m)."""
        return self.block.expectations(self.incidence, scores)

    def support_counts(self, counts: Counts) -> Counts:
        """Return the number of reports that support each value, shape (..., k)."""
        return support_counts(self.incidence, counts)


def support_counts(incidence: Incidence, counts: Counts) -> Counts:
    """Return the number of reports that support each value, shape (..., k).

    With many symbols, Fourier transforms compute these numbers. With more than about 10**13
    reports, the last digits of the numbers are no longer exact, but the noise in a tally is far
    larger.
    """
    symbols, floats = counts.shape[-1], counts.astype(np.float64)
    table = _table(incidence, symbols) if symbols <= FEW_SYMBOLS else None
    sums = np.rint(incidence.of_values(floats) if table is None else floats @ table.T)
    return np.clip(sums, 0, _sum(counts)).astype(np.int64)


def _sum(values: Numbers) -> Numbers:
    summed: Numbers = values.sum(axis=-1, keepdims=True)
    return summed


def binary_support(channel: Channel) -> Support:
    """Return the probability p of reporting the true answer, and q = 1 - p of reporting the other.

    At epsilon = ln 3, the share P_A of the true answer 'yes' is estimated from the share P_B of the
    reported answer 'yes' as P_A = 2 * P_B - 1/2 (Warner 1965; Dwork & Roth 2014, section 3.2).
    """
    return Support(own=channel.probability(1, given=1), other=channel.probability(1, given=0))


def k_ary_support(channel: Channel) -> Support:
    """Return the probabilities of reporting the true answer (p) and each other answer (q).

    With k answers, q is (1 - p) / (k - 1). Source: Kairouz, Bonawitz & Ramage 2016, section 3.
    """
    return Support(own=channel.probability(0, given=0), other=channel.probability(0, given=1))


def extreme(channel: KAryRandomizedResponse | OneOf | RotatedAxes) -> float:
    """Return the probability that a report causes the full privacy loss that epsilon allows.

    Such a report multiplies an observer's odds of the true answer against another answer by
    e**epsilon. The result is the largest such probability over all pairs of answers.
    """
    return float(channel.keep_numerator / COIN_SCALE)  # for rotated axes: opposite vectors favor disjoint axes
