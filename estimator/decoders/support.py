"""The inverses of balanced channels, which count how many reports support each value.

Each symbol supports some values. A report supports a value with probability p if the value is the
sender's answer, and with probability q if not. Among n reports of independently sampled people, the
number of reports that support a value is therefore binomial with probability P = q + (p - q) *
share. Other shares do not affect it. Wang, Blocki, Li & Jha 2017, "Locally differentially private
protocols for frequency estimation", section 3, call such protocols pure.
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
"""The maximum number of symbols for which a table of supported values is used. Such a table takes
at most half a MB, and is faster than transforms.
"""

REMEMBERED = 16
"""The number of tables cached for further windows of the same metrics."""


Numbers = TypeVar("Numbers", Floats, Counts)


@dataclass(frozen=True, slots=True)
class Support:
    """The probabilities that a report supports the sender's answer, and another value.

    This class is also the `Inverse` of channels in which a symbol supports only one value.

    Attributes:
        own: p, the probability that a report supports the sender's answer.
        other: q, the probability that a report supports a given other value; below p.
        slope: 1 / (p - q), the slope of the line from the frequency of support to the estimated
            share.
        intercept: -q / (p - q), the estimated share of a value that no report supports.

    """

    own: Fraction
    other: Fraction
    slope: Fraction = field(init=False, compare=False)
    intercept: Fraction = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Compute slope and intercept once, because exact fractions are slow."""
        object.__setattr__(self, "slope", 1 / (self.own - self.other))
        object.__setattr__(self, "intercept", -self.other * self.slope)

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k).

        An estimate may lie outside 0..1. It is never clipped, because clipping would bias it.

        Args:
            counts: the number of reports that support each value, shape (..., k).
            reports: n, the number of all reports, at least 1.

        """
        return float(self.slope) * (counts / reports) + float(self.intercept)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), for people sampled at random.

        The standard error is sqrt(P (1 - P) / n) / (p - q), where P is the observed frequency of
        support, clipped to the possible range q..p. It is therefore above 0 even if no report, or
        every report, supports the value.
        """
        frequency = np.clip(counts / reports, float(self.other), float(self.own))
        errors: Floats = float(self.slope) * np.sqrt(frequency * (1 - frequency) / reports)
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, from intervals of the frequency of support.

        Intervals are clipped to 0..1. No interval is empty: an interval entirely below 0 becomes
        the single point 0, and an interval entirely above 1 becomes the single point 1.
        """
        slope, intercept = float(self.slope), float(self.intercept)
        low, high = (
            np.clip(slope * bound + intercept, 0.0, 1.0) for bound in binomial_intervals(counts, reports, family)
        )
        return low, high

    def contrast(self, weights: Floats) -> Floats:
        """Return the score that each symbol adds to the estimate of a weighted sum of shares."""
        summed: Floats = float(self.slope) * weights + float(self.intercept) * weights.sum()
        return summed

    def squares(self, inputs: int) -> Squares:
        """Return the mean squared scores of a report, for the sender's answer and for others."""
        p, q = float(self.own), float(self.other)
        most, least = float(self.slope + self.intercept) ** 2, float(self.intercept) ** 2
        own, other = (np.array([chance * most + (1 - chance) * least]) for chance in (p, q))
        return Squares(inputs, own, other, other, (p, q))

    def extremes(self) -> tuple[Floats, Floats]:
        """Return a report's scores for a value without and with support, each of shape (1,)."""
        return np.array([float(self.intercept)]), np.array([float(self.slope + self.intercept)])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., k), if it supports only one value."""
        law: Floats = float(self.other) + float(self.own - self.other) * shares
        return law

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score given each input, shape (..., k)."""
        expected: Floats = float(self.other) * _sum(scores) + float(self.own - self.other) * scores
        return expected


class Incidence(Protocol):
    """The relation between symbols and the values that they support, as two linear maps."""

    def __hash__(self) -> int:
        """Return a hash, because incidences are keys of a cache of tables."""

    def of_values(self, scores: Floats) -> Floats:
        """Return the sum of the scores of the symbols that support each value, shape (..., k)."""

    def of_symbols(self, shares: Floats) -> Floats:
        """Return the sum of the shares of the values that each symbol supports, shape (..., m)."""


@lru_cache(maxsize=REMEMBERED)
def _table(incidence: Incidence, symbols: int) -> Floats:
    """Return 1 for each value and symbol that supports it, otherwise 0; shape (k, m)."""
    table: Floats = np.rint(incidence.of_values(np.eye(symbols))).T
    return table


@dataclass(frozen=True, slots=True)
class Block:
    """The probabilities of symbols that support the answer, and of symbols that do not."""

    supporting: float
    others: float

    def symbol_law(self, incidence: Incidence, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m). Shares have shape (..., k)."""
        law: Floats = self.others * _sum(shares) + (self.supporting - self.others) * incidence.of_symbols(shares)
        return law

    def expectations(self, incidence: Incidence, scores: Floats) -> Floats:
        """Return the expected score for each input, shape (..., k). Scores have shape (..., m)."""
        expected: Floats = self.others * _sum(scores) + (self.supporting - self.others) * incidence.of_values(scores)
        return expected


@dataclass(frozen=True, slots=True)
class Balanced:
    """The inverse of a balanced design, in which all pairs of values share equally many symbols.

    Attributes:
        support: the probabilities that a report supports the sender's answer, and another value.
        block: the distribution of the symbols.
        incidence: the relation between symbols and the values that they support.

    """

    support: Support
    block: Block
    incidence: Incidence

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        return self.support.shares(self.support_counts(counts), reports)

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), for people sampled at random."""
        return self.support.standard_errors(self.support_counts(counts), reports)

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, from binomial support counts."""
        return self.support.intervals(self.support_counts(counts), reports, family)

    def contrast(self, weights: Floats) -> Floats:
        """Return the score that each symbol adds to the estimate of a weighted sum of shares."""
        supported = self.incidence.of_symbols(weights)
        summed: Floats = float(self.support.slope) * supported + float(self.support.intercept) * weights.sum()
        return summed

    def squares(self, inputs: int) -> Squares:
        """Return the mean squared scores of a report, for the sender's answer and for others."""
        return self.support.squares(inputs)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of a report, each of shape (1,)."""
        return self.support.extremes()

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m). Shares have shape (..., k)."""
        return self.block.symbol_law(self.incidence, shares)

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score for each input, shape (..., k). Scores have shape (..., m)."""
        return self.block.expectations(self.incidence, scores)

    def support_counts(self, counts: Counts) -> Counts:
        """Return the number of reports that support each value, shape (..., k).

        The sums from a transform are rounded to integers. Beyond about 10**13 reports, the last
        digits are no longer exact, but the noise is far larger than this error.
        """
        symbols, floats = counts.shape[-1], counts.astype(np.float64)
        table = _table(self.incidence, symbols) if symbols <= FEW_SYMBOLS else None
        sums = np.rint(self.incidence.of_values(floats) if table is None else floats @ table.T)
        return np.clip(sums, 0, _sum(counts)).astype(np.int64)


def _sum(values: Numbers) -> Numbers:
    """Return the sum of each row, shape (..., 1), for rows of shape (..., k)."""
    summed: Numbers = values.sum(axis=-1, keepdims=True)
    return summed


def binary_support(channel: Channel) -> Support:
    """Return p and q of a randomized response: p for the true answer, q = 1 - p for a lie.

    At epsilon = ln 3, the true share P_A is estimated from the reported share P_B as
    P_A = 2 * P_B - 1/2 (Warner 1965; Dwork & Roth 2014, section 3.2).
    """
    return Support(own=channel.probability(1, given=1), other=channel.probability(1, given=0))


def k_ary_support(channel: Channel) -> Support:
    """Return p and q: p for the true answer, q = (1 - p) / (k - 1) for a given false answer.

    A symbol supports only the value that it names. A false answer is each of the k - 1 other values
    with equal probability (Kairouz, Bonawitz & Ramage 2016, section 3).
    """
    return Support(own=channel.probability(0, given=0), other=channel.probability(0, given=1))


def extreme(channel: KAryRandomizedResponse | OneOf | RotatedAxes) -> float:
    """Return the largest probability, over all pairs of answers, of a privacy loss of epsilon."""
    return float(channel.keep_numerator / COIN_SCALE)  # opposite vectors favor disjoint axes
