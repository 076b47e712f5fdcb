"""Confidence intervals for the probability of a binomial count, from the count alone.

* Fewer than 50 reports: Clopper & Pearson 1934; the coverage is at least the confidence at every truth.
* From 50 on: Wilson's score interval (Wilson 1927), whose coverage is the confidence on average (for epsilon from .5
  on: below that it holds few of the possible counts, and the average wanders by one percent); but where few are
  expected it falls to 84 % for 95 % (Brown, Cai & DasGupta 2001, "Interval estimation for a binomial proportion",
  section 4.1.1, who move three bounds out). Here a bound of few counts is moved out just until the truths beyond it,
  too, are covered with at least 93.1 % for 95 %; exact sums of the binomial law show that no other bound needs it.

Every bound is monotone in the count and mirrored: the upper bound of a count is one minus the lower bound of the rest.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95

EXACT_BELOW = 50
"""Reports below which the interval must hold its confidence at every truth (its price: it is wider than need be)."""

FEW = 20
"""Counts of which a bound may need moving; the largest is 18, at n = 53 (n up to 2000, then a ladder to 10**9)."""

WORST_COVERAGE = 0.931
"""How often an interval must hold the worst truth; just above the promised 93 %."""

TAIL = (1 + CONFIDENCE) / 2

Z = NormalDist().inv_cdf(TAIL)

_Number = TypeVar("_Number", float, NDArray[np.float64])

BISECTIONS = 60
"""Halvings of an interval within 0..1 down to the last bit of a float."""


def binomial_intervals(counts: NDArray[np.int64], reports: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper ends of `binomial_interval` of many counts of the same n."""
    low, high = np.zeros(counts.size), np.ones(counts.size)
    plain = (counts > FEW) & (counts < reports - FEW) & (reports >= EXACT_BELOW)
    if plain.any():
        many = counts[plain].astype(np.float64)
        low[plain], high[plain] = _wilson_lower(many, reports), 1 - _wilson_lower(reports - many, reports)
    for count in np.unique(counts[~plain]).tolist():
        low[counts == count], high[counts == count] = binomial_interval(count, reports)
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


def _lower(count: int, reports: int) -> float:
    if count == 0:
        return 0.0
    if reports < EXACT_BELOW:
        return _clopper_pearson_lower(count, reports)
    lower = _wilson_lower(count, reports)
    return _moved_out(lower, count, reports) if count <= FEW else lower


def _clopper_pearson_lower(count: int, reports: int) -> float:
    """Return the probability at which so large a count, or a larger one, has the chance of one tail."""
    below, above = 0.0, count / reports
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        if at_most(count - 1, reports, middle) >= TAIL:
            below = middle
        else:
            above = middle
    return below


def _wilson_lower(count: _Number, reports: int) -> _Number:
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
