"""P-values that are corrected for their number (Holm 1979, "A simple sequentially rejective multiple test procedure").

Where many things are compared, some seem to differ by chance alone. The chance that a corrected value at or below 0.05
stands anywhere beside something that does not differ is at most 5 %, if each p-value is right by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

PAIR: Final = 2
"""Two values whose shares add up to one differ by the same amount, so that they are compared once."""


def holm(p_values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return p-values that are corrected for their number, in their order; with weights as in section 4.

    Args:
        p_values: from 0 to 1.
        weights: above 0: which part of the error each may make.

    """
    order = sorted(range(len(p_values)), key=lambda one: p_values[one] / weights[one])
    left = [*accumulate(weights[one] for one in reversed(order))][::-1]
    corrected = [0.0] * len(p_values)
    least = 0.0
    for one, weight in zip(order, left, strict=True):
        least = max(least, min(1.0, weight * p_values[one] / weights[one]))
        corrected[one] = least
    return corrected
