"""How many rotations a vector may meet, of which dimension, and how many of their axes it favours.

All three follow from the length of the vector and from epsilon, in exact integers. The best share
of favoured axes is 1 - Phi(t), where t minimizes the variance (Isik et al. 2023, for directions in
high dimension): phi(t) / t - (1 - Phi(t)) = 1 / (e**epsilon - 1).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from client_sdk.protocol.exact import ln_ceiling

AXES: Final = 2**19
"""The axes of all rotations. A tally counts both directions of each: some megabytes in a store."""

_DIMENSIONS: Final = ((6, 128), (7, 512), (20, 1024))
"""Up to which epsilon a dimension is enough. In lower ones too few axes are favoured, and the mean
is less precise.
"""

DIGITS: Final = 9
"""Digits of epsilon: the logarithm is rounded, and a whole epsilon is to be whole."""

_SHARES: Final = (
    (0, 500_000),
    (1, 345_513),
    (2, 215_793),
    (3, 122_927),
    (4, 64_805),
    (5, 32_110),
    (6, 15_159),
    (7, 6_893),
    (8, 3_045),
    (9, 1_314),
    (10, 557),
    (12, 96),
    (20, 0),
)
"""Of a million axes, how many are favoured at an epsilon; lines join the points. Half a step away
the variance is higher by one in 5,000 below an epsilon of 8."""


class Rotations(NamedTuple):
    """The sizes of a channel of rotated axes: D, B and s."""

    dimension: int
    rotations: int
    favoured: int


def rotations_for(length: int, odds: Fraction) -> Rotations:
    """Return the sizes for vectors of a length from 1 to 4,095, and for odds of e**epsilon."""
    epsilon = round(ln_ceiling(odds), DIGITS)
    least = next(dimension for most, dimension in _DIMENSIONS if epsilon <= most)
    dimension = max(least, 1 << length.bit_length())  # above the length: one coordinate is added
    favoured = max(1, round(2 * dimension * _share(epsilon)))
    return Rotations(dimension, AXES // dimension, favoured)


def _share(epsilon: Fraction) -> Fraction:
    """Return the share of axes that are favoured, for an epsilon up to the greatest."""
    for (low, of_low), (high, of_high) in pairwise(_SHARES):
        if epsilon <= high:
            return (of_low + (of_high - of_low) * (epsilon - low) / (high - low)) / 10**6
    return Fraction(0)
