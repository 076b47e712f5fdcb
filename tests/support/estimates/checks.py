"""The properties of a correct estimator, by enumeration and exact sums. Each check raises
AssertionError for a wrong one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol import Channel
from estimator.decoders.support import Support
from estimator.statistics.arrays import Counts, Floats

Interval = Callable[[int, int], tuple[float, float]]
Likelihood = Callable[[Support, Counts], Floats]

EPSILON = sys.float_info.epsilon


def check_unbiased(channel: Channel, support: Support) -> None:
    """The expectation of the estimated share of v is 1 if the answer is v, else 0: exactly."""
    for answer in range(channel.inputs):
        for value in range(channel.inputs):
            expected = sum(
                channel.probability(symbol, given=answer)
                * (support.intercept + (support.slope if symbol == value else 0))
                for symbol in range(channel.symbols)
            )
            assert expected == (answer == value)


def check_standard_error(channel: Channel, support: Support) -> None:
    """The standard error of one report is the root of the variance summed over all symbols."""
    inputs = channel.inputs
    shares = [Fraction(2 * answer, inputs * (inputs - 1)) for answer in range(inputs)]
    law = [sum(shares[x] * channel.probability(y, given=x) for x in range(inputs)) for y in range(inputs)]
    for value in range(inputs):
        weights = [true_weight(channel, supports=symbol == value) for symbol in range(inputs)]
        mean = sum(p * weight for p, weight in zip(law, weights, strict=True))
        variance = sum(p * (weight - mean) ** 2 for p, weight in zip(law, weights, strict=True))
        # a count of n = 2**50 reports at the expected frequency: its rounding is below the last bit
        # of a float
        reports = 2**50
        counts = np.array([round(p * reports) for p in law], dtype=np.int64)
        standard_error = support.standard_errors(counts, reports)[value] * math.sqrt(reports)
        steps = 16 * float(1 / (channel.probability(0, given=0) - channel.probability(0, given=1)))
        assert math.isclose(standard_error, math.sqrt(variance), rel_tol=steps * EPSILON * inputs)


def true_weight(channel: Channel, *, supports: bool) -> Fraction:
    own, other = channel.probability(0, given=0), channel.probability(0, given=1)
    return ((1 if supports else 0) - other) / (own - other)


def symbol_law(support: Support, shares: Floats) -> Floats:
    """Return the probability of each symbol in a population with the given shares."""
    law: Floats = float(support.other) + float(support.own - support.other) * shares
    return law


def expectations(support: Support, scores: Floats) -> Floats:
    """Return the expectation, for each input, of a score of the symbol: the law's adjoint."""
    expected: Floats = float(support.other) * scores.sum() + float(support.own - support.other) * scores
    return expected


def duality_gap(support: Support, counts: Counts, shares: Floats) -> float:
    """Return a bound on the log-likelihood that any other shares could gain for the tally.

    The logarithm of the likelihood is concave. So it rises from ``shares`` to any point of the
    simplex by at most n * (max over v of the gradient - 1), where gradient v is the expectation,
    for input v, of frequency / law of its symbol (Lindsay 1983, "The geometry of mixture
    likelihoods", theorem 4.1). It is 0 at the maximum only.
    """
    reports = int(counts.sum())
    gradient = expectations(support, counts / reports / symbol_law(support, shares))
    return reports * float(gradient.max() - 1)


def check_likelihood(support: Support, counts: Counts, maximize: Likelihood) -> None:
    """The shares lie on the simplex, and no input's expectation of frequency / law exceeds 1:
    Karush, Kuhn and Tucker.
    """
    shares = maximize(support, counts)
    # each of k shares and the sum of k terms is rounded a few times, magnified by the division by p
    # - q
    tolerance = 16 * counts.size * EPSILON * float(support.slope)
    assert (shares >= 0).all()
    assert abs(math.fsum(shares.tolist()) - 1) <= tolerance
    assert duality_gap(support, counts, shares) <= counts.sum() * tolerance / float(support.other)


def bounds(interval: Interval, reports: int) -> tuple[Floats, Floats]:
    both = np.array([interval(count, reports) for count in range(reports + 1)])
    return both[:, 0], both[:, 1]


def binomial_sums(reports: int, first: Counts, last: Counts, truths: Floats) -> Floats:
    """Return P(first <= count <= last) at each truth, by summing every term."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, reports + 1)))])
    counts = first[:, None] + np.arange(int((last - first).max(initial=0)) + 1)
    inside = counts <= last[:, None]
    counts = np.minimum(counts, reports)
    log_terms = log_factorial[reports] - log_factorial[counts] - log_factorial[reports - counts]
    log_terms += counts * np.log(truths)[:, None] + (reports - counts) * np.log1p(-truths)[:, None]
    sums: Floats = np.where(inside, np.exp(log_terms), 0.0).sum(axis=1)
    return sums


def covering(low: Floats, high: Floats, truths: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last count whose interval contains each truth; bounds rise with the
    count.
    """
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    return np.searchsorted(high, truths, side="left"), np.searchsorted(low, truths, side="right") - 1


def worst_coverage(interval: Interval, reports: int) -> float:
    """Return the minimum coverage at any truth between 0 and 1.

    Between two neighboring bounds the same counts cover, and P(first <= count <= last) has a single
    peak in the truth. So its minimum is at one of the two ends, and both are summed.
    """
    low, high = bounds(interval, reports)
    ends = np.unique(np.concatenate([[EPSILON, 1 - EPSILON], low, high]))
    ends = ends[(ends >= EPSILON) & (ends <= 1 - EPSILON)]
    first, last = covering(low, high, (ends[1:] + ends[:-1]) / 2)
    return float(min(binomial_sums(reports, first, last, side).min() for side in (ends[1:], ends[:-1])))


def mean_coverage(support: Support, reports: int) -> float:
    """Return the coverage averaged over the shares 0, 0.005, ..., 1, of the intervals of shares."""
    low, high = support.intervals(np.arange(reports + 1), reports)
    shares = np.arange(201) / 200
    first, last = covering(low, high, shares)
    return float(binomial_sums(reports, first, last, symbol_law(support, shares)).mean())


def check_coverage(interval: Interval, reports: int) -> None:
    """At every truth: at least 95% below 50 reports, at least 93% from there on."""
    assert worst_coverage(interval, reports) >= (0.95 if reports < 50 else 0.93)
