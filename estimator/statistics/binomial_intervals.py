"""Confidence intervals for the probability of a binomial count, from the count alone.

* Fewer than 50 reports: Clopper & Pearson 1934; the coverage is at least the confidence at every truth.
* From 50 on: Wilson's score interval (Wilson 1927), whose coverage is the confidence on average (for epsilon from .5
  on: below that it holds few of the possible counts, and the average wanders by one percent); but where few are
  expected it falls to 84 % for 95 % (Brown, Cai & DasGupta 2001, "Interval estimation for a binomial proportion",
  section 4.1.1, who move three bounds out). Here a bound of few counts is moved out just until the truths beyond it,
  too, are covered with at least 93.1 % for 95 %; exact sums of the binomial law show that no other bound needs it.

Several intervals that shall hold together are those of Clopper & Pearson at the confidence of Bonferroni, which is
safe whatever the counts have to do with each other. Their tails are far out, where the normal approximation of Wilson
is wrong by factors; the one of Peizer & Pratt 1968, "A normal approximation for binomial, F, beta, and other common,
related tail probabilities", is right there to one or two parts in a hundred (six at worst, where every one of 50
reports counts and a million intervals shall hold).

Every bound is monotone in the count and mirrored: the upper bound of a count is one minus the lower bound of the rest.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Floats, Reports
from estimator.statistics.confidence import BISECTIONS, EXACT_BELOW, FEW, TAIL, Z, tail_of

WORST_COVERAGE = 0.931
"""How often an interval must hold the worst truth; just above the promised 93 %."""

_Number = TypeVar("_Number", float, Floats)

NEAR_ONE = 1e-4
"""Of 1: a ratio so near is expanded to the first order, which errs by 1e-9, and leaves no digits of a difference."""


def binomial_intervals(counts: NDArray[np.int64], reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of the intervals of many counts.

    Args:
        counts: each from 0 to ``reports``, shape (..., k).
        reports: n; with 0 every interval is everything.
        family: how many intervals shall hold together; with 1 they are those of `binomial_interval`.

    """
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    trials = np.broadcast_to(reports, counts.shape)
    if family > 1:
        for row in np.ndindex(counts.shape[:-1]):
            low[row], high[row] = _simultaneous(counts[row], int(trials[row][0]), tail_of(family))
        return low, high
    plain = (counts > FEW) & (counts < trials - FEW) & (trials >= EXACT_BELOW)
    many, of = counts[plain].astype(np.float64), trials[plain].astype(np.float64)
    low[plain], high[plain] = _wilson_lower(many, of), 1 - _wilson_lower(of - many, of)
    few = [binomial_interval(*one) for one in zip(counts[~plain].tolist(), trials[~plain].tolist(), strict=True)]
    if few:
        low[~plain], high[~plain] = zip(*few, strict=True)
    return low, high


@lru_cache(maxsize=2**16)
def binomial_interval(count: int, reports: int) -> tuple[float, float]:
    """Return the interval of 0..1 for the probability of a binomial count; many values of a tally share a count.

    Args:
        count: from 0 to ``reports``.
        reports: n; with 0 the interval is everything.

    """
    if reports == 0:
        return 0.0, 1.0
    lower = _lower(count, reports)
    return lower, max(lower, 1 - _lower(reports - count, reports))


def _simultaneous(counts: NDArray[np.int64], reports: int, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of Clopper & Pearson, each of which is missed with at most the chance of one tail."""
    if reports == 0:
        return np.zeros(counts.size), np.ones(counts.size)
    distinct, where = np.unique(counts, return_inverse=True)
    low = _far_lower(distinct, reports, tail)
    high = 1 - _far_lower(reports - distinct[::-1], reports, tail)[::-1]
    return low[where], np.maximum(low, high)[where]


def _far_lower(counts: NDArray[np.int64], reports: int, tail: float) -> Floats:
    """Return for each count, rising, the probability at which it, or a larger one, has the chance of one tail."""
    exact = [_clopper_pearson_lower(count, reports, 1 - tail) for count in counts[counts <= FEW].tolist()]
    many, z = counts[counts > FEW], NormalDist().inv_cdf(1 - tail)
    below, above = np.zeros(many.size), many / reports
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        rarer = normal_score(many - 1, reports, middle) >= z
        below, above = np.where(rarer, middle, below), np.where(rarer, above, middle)
    return np.concatenate([exact, below])


def normal_score(counts: NDArray[np.int64], reports: int, probability: Floats) -> Floats:
    """Return z such that a binomial count is at most ``counts`` about as often as a normal one is at most z.

    The refined form of Peizer & Pratt, for counts from 0 to n - 1 and probabilities above 0 and below 1.
    """
    p, q, n = probability, 1 - probability, reports
    distance = counts + 2 / 3 - (n + 1 / 3) * p
    distance = distance + 0.02 * (q / (counts + 1) - p / (n - counts) + (q - 0.5) / (n + 1))
    skewness = q * _g((counts + 0.5) / (n * p)) + p * _g((n - counts - 0.5) / (n * q))
    score: Floats = distance * np.sqrt((1 + skewness) / ((n + 1 / 6) * p * q))
    return score


def _g(ratio: Floats) -> Floats:
    excess = 1 - ratio
    near = np.abs(excess) < NEAR_ONE
    apart = np.where(near, 1.0, excess)
    exact = (1 - ratio**2 + 2 * ratio * np.log(ratio)) / apart**2
    return np.where(near, excess / 3, exact)


def _lower(count: int, reports: int) -> float:
    if count == 0:
        return 0.0
    if reports < EXACT_BELOW:
        return _clopper_pearson_lower(count, reports)
    lower = _wilson_lower(count, reports)
    return _moved_out(lower, count, reports) if count <= FEW else lower


def _clopper_pearson_lower(count: int, reports: int, at_most_before: float = TAIL) -> float:
    """Return the probability at which a smaller count has the chance that is given, by exact sums."""
    if count == 0:
        return 0.0
    below, above = 0.0, count / reports
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        if at_most(count - 1, reports, middle) >= at_most_before:
            below = middle
        else:
            above = middle
    return below


def _wilson_lower(count: _Number, reports: _Number | int) -> _Number:
    frequency = count / reports
    centre = frequency + Z * Z / (2 * reports)
    half_width = Z * (frequency * (1 - frequency) / reports + (Z / (2 * reports)) ** 2) ** 0.5
    lower: _Number = (centre - half_width) / (1 + Z * Z / reports)
    return lower


def _moved_out(lower: float, count: int, reports: int) -> float:
    """Return a lower bound moved down until a truth just below it is covered often enough, by the smaller counts.

    Which counts cover that truth follows from the score test, which is symmetric about the expected count: those
    nearer to it than ``count``.
    """
    least_covering = max(0, math.ceil(2 * reports * lower - count))

    def covered(truth: float) -> bool:
        return at_most(count - 1, reports, truth) - at_most(least_covering - 1, reports, truth) >= WORST_COVERAGE

    outside, inside = lower, lower
    while not covered(outside):
        inside, outside = outside, outside * 0.99  # a step small enough not to pass the truths that are covered
    for _ in range(BISECTIONS if outside < inside else 0):
        middle = (outside + inside) / 2
        if covered(middle):
            outside = middle
        else:
            inside = middle
    return outside


def at_most(count: int, reports: int, probability: float) -> float:
    """Return the probability that a binomial count is at most ``count``, by its exact sum of count + 1 terms.

    Args:
        count: small, or -1 for the impossible.
        reports: n.
        probability: of one success, below 1.

    """
    odds = probability / (1 - probability)
    term = math.exp(reports * math.log1p(-probability)) if count >= 0 else 0.0
    terms = [term]
    for successes in range(count):
        term *= (reports - successes) / (successes + 1) * odds
        terms.append(term)
    return math.fsum(terms)
