"""The confidence of every interval, and its normal quantiles."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

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
