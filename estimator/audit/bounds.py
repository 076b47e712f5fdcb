"""One-sided bounds of a probability, far out in the tails, from a binomial count.

Source: Clopper & Pearson 1934. Few successes or few failures take exact sums of the binomial law; between them stands
the approximation of Peizer & Pratt (`estimator.statistics.binomial_intervals.normal_score`), whose tails err by less than one part in a
hundred: a fiftieth of the level is given away, so that the bounds hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from estimator.statistics.binomial_intervals import at_most, normal_score
from estimator.statistics.confidence import BISECTIONS, FEW

GIVEN_AWAY = 0.02
"""Of the level: twice what the approximation may err by, and far more than floats do."""

MEDIAN_AHEAD = 2 / 3
"""A Poisson count is at most k in half of all cases up to an expectation of k + 2/3 (Choi 1994, theorem 2)."""


@lru_cache(maxsize=2**12)
def lower_bound(successes: int, n: int, level: float) -> float:
    """Return a probability that the true one is below with a chance of at most ``level``."""
    level *= 1 - GIVEN_AWAY
    if successes == 0:
        return 0.0
    if n - successes <= FEW:
        return 1 - _exact_upper(n - successes, n, level)
    if successes <= FEW:
        return _least(lambda truth: at_most(successes - 1, n, truth) < 1 - level, successes / n)
    z = NormalDist().inv_cdf(1 - level)
    count = np.array([successes - 1])
    return _least(lambda truth: float(normal_score(count, n, np.array([truth]))[0]) < z, successes / n)


def upper_bound(successes: int, n: int, level: float) -> float:
    """Return a probability that the true one is above with a chance of at most ``level``."""
    return 1 - lower_bound(n - successes, n, level)


def provable(successes: int, others: int, n: int, level: float, delta: float = 0.0) -> float:
    """Return the epsilon that an event proves: at least 0.

    Under (epsilon, delta) an event's probability p is at most e**epsilon p' + delta (Dwork & Roth 2014, definition
    2.4); so epsilon is at least ln((p - delta) / p'), and p is bounded from below and p' from above (Jagielski, Ullman
    & Oprea 2020, "Auditing differentially private machine learning", section 3).

    Args:
        successes: how often the event was observed after the one answer.
        others: and after the other.
        n: of so many observations each.
        level: the chance that either bound may fail.
        delta: of the claim.

    """
    certain = lower_bound(successes, n, level) - delta
    return max(0.0, math.log(certain / upper_bound(others, n, level))) if certain > 0 else 0.0


def detectable(successes: int, n: int, level: float, epsilon: float, delta: float) -> float | None:
    """Return the least excess over a claimed epsilon which would be proved about every other time.

    Such a law gives the event as often as it was observed after the one answer, and by the excess too rarely after the
    other.

    Returns:
        The excess, or none if n proves no excess at all by such an event.

    """
    few, many = -1, n
    while many - few > 1:
        middle = (few + many) // 2
        if provable(successes, middle, n, level, delta) > epsilon:
            few = middle
        else:
            many = middle
    if few < 0:
        return None
    return max(0.0, math.log((successes - n * delta) / (few + MEDIAN_AHEAD)) - epsilon)


def _exact_upper(successes: int, n: int, level: float) -> float:
    """Return the least probability at which so few successes are rarer than ``level``; rounded up."""
    if successes == n:
        return 1.0
    below, above = successes / n, 1.0
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        if middle < 1 and at_most(successes, n, middle) > level:
            below = middle
        else:
            above = middle
    return above


def _least(is_too_large: Callable[[float], bool], frequency: float) -> float:
    """Return the largest probability up to an observed frequency that is not yet too large."""
    below, above = 0.0, frequency
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        if is_too_large(middle):
            above = middle
        else:
            below = middle
    return below
