"""The chi-square distribution, by its finite sums."""

from __future__ import annotations

import math


def survival(value: float, degrees: int) -> float:
    """Return the probability that a chi-square variable exceeds a value.

    For an even number of degrees of freedom it is that of fewer than degrees / 2 events of a Poisson law of mean
    value / 2; for an odd one the sum begins with the normal tail (Abramowitz & Stegun 1964, 26.4.4 and 26.4.5).

    Args:
        value: from 0 up.
        degrees: of freedom, at least 1.

    """
    half = value / 2
    if half == 0:
        return 1.0
    total = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    for step in range(degrees // 2):
        exponent = step + degrees % 2 / 2
        total += math.exp(exponent * math.log(half) - half - math.lgamma(exponent + 1))
    return min(1.0, total)
