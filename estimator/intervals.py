"""Confidence intervals for the probability of a binomial count, from the count alone.

* Fewer than 50 reports: Clopper & Pearson 1934; the coverage is at least the confidence at every truth.
* From 50 on: Wilson's score interval (Wilson 1927), whose coverage is the confidence on average; but where few are
  expected it falls to 84 % for 95 % (Brown, Cai & DasGupta 2001, "Interval estimation for a binomial proportion",
  section 4.1.1, who move three bounds out). Here a bound of few counts is moved out just until the truths beyond it,
  too, are covered with at least 93.1 % for 95 %; exact sums of the binomial law show that no other bound needs it.

Every bound is monotone in the count and mirrored: the upper bound of a count is one minus the lower bound of the rest.
"""

from __future__ import annotations

import math
from statistics import NormalDist

CONFIDENCE = 0.95

EXACT_BELOW = 50
"""Reports below which the interval must hold its confidence at every truth (its price: it is wider than need be)."""

FEW = 20
"""Counts of which a bound may need moving; the largest is 18, at n = 53 (n up to 2000, then a ladder to 10**9)."""

MISS_ALLOWANCE = 1.38
"""How much likelier a miss than nominal may be at the worst truth: 6.9 % for 5 %, just below the promised 7 %."""

BISECTIONS = 60
"""Halvings of an interval within 0..1 down to the last bit of a float."""


def binomial_interval(count: int, reports: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return an interval of 0..1 for the probability of a binomial count.

    Args:
        count: from 0 to ``reports``.
        reports: n; with 0 the interval is everything.
        confidence: how often an interval holds the truth, above 0 and below 1.

    """
    if reports == 0:
        return 0.0, 1.0
    return _lower(count, reports, confidence), 1 - _lower(reports - count, reports, confidence)


def _lower(count: int, reports: int, confidence: float) -> float:
    if count == 0:
        return 0.0
    if reports < EXACT_BELOW:
        return _clopper_pearson_lower(count, reports, confidence)
    lower = _wilson_lower(count, reports, confidence)
    return _moved_out(lower, count, reports, confidence) if count <= FEW else lower


def _clopper_pearson_lower(count: int, reports: int, confidence: float) -> float:
    """Return the probability at which so large a count, or a larger one, has half of 1 - confidence."""
    below, above = 0.0, count / reports
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        if at_most(count - 1, reports, middle) >= (1 + confidence) / 2:
            below = middle
        else:
            above = middle
    return below


def _wilson_lower(count: int, reports: int, confidence: float) -> float:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    frequency = count / reports
    centre = frequency + z * z / (2 * reports)
    half_width = z * math.sqrt(frequency * (1 - frequency) / reports + (z / (2 * reports)) ** 2)
    return (centre - half_width) / (1 + z * z / reports)


def _moved_out(lower: float, count: int, reports: int, confidence: float) -> float:
    """Return a lower bound moved down until a truth just below it is covered often enough, by the smaller counts.

    Which counts cover that truth follows from the score test, which is symmetric about the expected count: those
    nearer to it than ``count``.
    """
    least_covering = max(0, math.ceil(2 * reports * lower - count))
    enough = 1 - MISS_ALLOWANCE * (1 - confidence)

    def covered(truth: float) -> bool:
        return at_most(count - 1, reports, truth) - at_most(least_covering - 1, reports, truth) >= enough

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
