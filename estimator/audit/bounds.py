"""One-sided bounds of a probability, far out in the tails, from a binomial count.

Source: Clopper & Pearson 1934.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from estimator.statistics.laws import binomial_chance

GIVEN_AWAY = 0.02
"""Of the level: far more than floats err by, so that the bounds hold."""

MEDIAN_AHEAD = 2 / 3
"""Up to an expectation of k + 2/3, a Poisson count is at most k in half of all cases (Choi 1994,
theorem 2).
"""


@lru_cache(maxsize=2**12)
def lower_bound(successes: int, n: int, level: float) -> float:
    """Return a lower bound of a probability.

    The true one is below it with a probability of at most ``level``.
    """
    return float(binomial_chance(np.array([successes]), n, level * (1 - GIVEN_AWAY))[0])


def upper_bound(successes: int, n: int, level: float) -> float:
    """Return an upper bound of a probability.

    The true one is above it with a probability of at most ``level``.
    """
    return 1 - lower_bound(n - successes, n, level)


def provable(successes: int, others: int, n: int, level: float, delta: float = 0.0) -> float:
    """Return the lower bound of epsilon that an event proves, at least 0.

    Under (epsilon, delta) an event's probability p is at most e**epsilon p' + delta (Dwork & Roth
    2014, definition 2.4); so epsilon is at least ln((p - delta) / p'), and p is bounded from below
    and p' from above (Jagielski, Ullman & Oprea 2020, "Auditing differentially private machine
    learning", section 3).

    Args:
        successes: how often the event was observed after one answer.
        others: how often it was observed after the other.
        n: the number of observations of each answer.
        level: the probability with which each bound may fail.
        delta: of the claim.

    """
    certain = lower_bound(successes, n, level) - delta
    return max(0.0, math.log(certain / upper_bound(others, n, level))) if certain > 0 else 0.0


def detectable(successes: int, n: int, level: float, epsilon: float, delta: float) -> float | None:
    """Return the least excess over a claimed epsilon that would be proved about every other time.

    The law in question gives the event as often as observed after one answer, and by the excess too
    rarely after the other.

    Args:
        successes: how often the event was observed after one answer.
        n: the number of observations of each answer.
        level: the probability with which each bound may fail.
        epsilon: of the claim.
        delta: of the claim.

    Returns:
        The excess. None if n observations prove none.

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
