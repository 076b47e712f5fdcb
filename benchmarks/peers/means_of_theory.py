"""The variances of means with the one-bit, piecewise and hybrid mechanisms, from formulas.

Source: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019, "Collecting and analyzing
multidimensional data with local differential privacy", section III. Answers lie between -1 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

ONE_BIT_UP_TO: Final = 0.61
"""Up to this epsilon, the hybrid mechanism equals the one-bit mechanism (section III.C)."""


def one_bit(epsilon: float) -> float:
    """Return the largest variance of Duchi's one-bit mechanism, for an answer in the middle."""
    return 1 / math.tanh(epsilon / 2) ** 2


def piecewise(epsilon: float) -> float:
    """Return the largest variance of the piecewise mechanism, for an answer at an end."""
    root = math.exp(epsilon / 2)
    return 4 * root / (3 * (root - 1) ** 2)


def hybrid(epsilon: float) -> float:
    if epsilon <= ONE_BIT_UP_TO:
        return one_bit(epsilon)
    root = math.exp(epsilon / 2)
    return (root + 3) / (3 * root * (root - 1)) + one_bit(epsilon) / root


OF_MEANS: Final[Mapping[str, Callable[[float], float]]] = {
    "one-bit": one_bit,
    "piecewise": piecewise,
    "hybrid": hybrid,
}


def least(epsilon: float) -> float:
    return min(variance(epsilon) for variance in OF_MEANS.values())
