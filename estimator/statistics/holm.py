"""P-values corrected for their number.

Among many comparisons some differ by chance alone. If each p-value is valid by itself, the
probability that any equal pair has a corrected value of 0.05 or less is at most 5 %.

Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

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
