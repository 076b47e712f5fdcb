"""The confidence of every interval, its normal quantiles, and p-values corrected for their number.

Among many comparisons some differ by chance alone. If each p-value is valid by itself, the
probability that any equal pair has a corrected value of 0.05 or less is at most 5 % (Holm 1979, "A
simple sequentially rejective multiple test procedure").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import Final

CONFIDENCE = 0.95

EXACT_BELOW = 50
"""Below this number of reports an interval must keep its confidence at every truth, and is wider
than necessary.
"""

FEW = 20
"""Counts whose bounds may need moving. The largest is 18, at n = 53 (n up to 2000, then a ladder to
10**9).
"""

TAIL = (1 + CONFIDENCE) / 2

Z = NormalDist().inv_cdf(TAIL)

POWER = 0.8
"""How often a planned effect would be seen: Cohen 1988, "Statistical power analysis for the
behavioral sciences", 2.4.
"""

Z_OF_POWER = NormalDist().inv_cdf(POWER)

BISECTIONS = 60
"""Halvings that reduce an interval within 0..1 to the last bit of a float."""


def tail_of(family: int) -> float:
    """Return the probability of missing to one side if a family holds together (Bonferroni)."""
    return (1 - CONFIDENCE) / (2 * family)


@lru_cache
def z_of(family: int) -> float:
    """Return the half-width of a normal interval in standard errors if a family holds together."""
    return NormalDist().inv_cdf(1 - tail_of(family))


PAIR: Final = 2
"""Two values whose shares add up to 1 differ by the same amount, so they are compared once."""


def holm(p_values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return corrected p-values in the order given, with weights as in section 4.

    Args:
        p_values: from 0 to 1.
        weights: above 0; the relative part of the error that each may cause.

    """
    order = sorted(range(len(p_values)), key=lambda position: p_values[position] / weights[position])
    left = [*accumulate(weights[position] for position in reversed(order))][::-1]
    corrected = [0.0] * len(p_values)
    least = 0.0
    for place, weight in zip(order, left, strict=True):
        least = max(least, min(1.0, weight * p_values[place] / weights[place]))
        corrected[place] = least
    return corrected
