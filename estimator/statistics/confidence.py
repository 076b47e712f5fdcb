"""The confidence of every interval, and its normal quantiles."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

CONFIDENCE = 0.95

EXACT_BELOW = 50
"""Reports below which the interval must hold its confidence at every truth (its price: it is wider than need be)."""

FEW = 20
"""Counts of which a bound may need moving; the largest is 18, at n = 53 (n up to 2000, then a ladder to 10**9)."""

TAIL = (1 + CONFIDENCE) / 2

Z = NormalDist().inv_cdf(TAIL)

BISECTIONS = 60
"""Halvings of an interval within 0..1 down to the last bit of a float."""


def tail_of(family: int) -> float:
    """Return the chance that an interval may miss to one side, if so many shall hold together (Bonferroni)."""
    return (1 - CONFIDENCE) / (2 * family)


@lru_cache
def z_of(family: int) -> float:
    """Return by how many standard errors a normal interval reaches to a side, if so many shall hold together."""
    return NormalDist().inv_cdf(1 - tail_of(family))
