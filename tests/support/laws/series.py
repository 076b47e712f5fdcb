"""Rational bounds of exp and ln by their series: independent of ``decimal`` and of libm."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

GRID = 2**320
"""Bounds are rounded outwards to this grid, so that their fractions stay short; 96 digits are more
than enough.
"""

ATANH_TERMS = 100
"""For z up to 1/3 the rest of the series is below 3**-200, which is less than a step of 10**-95."""

EXP_TERMS = 160
"""For x up to 20 the rest of the series is below 20**160 / 160!, which is less than 10**-76."""


def floor(value: Fraction) -> int:
    """Return the next point of the grid that is not above a value, in steps of the grid."""
    return value.numerator * GRID // value.denominator


def ceiling(value: Fraction) -> int:
    """Return the next point of the grid that is not below a value, in steps of the grid."""
    return -floor(-value)


def exp_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals around e**exponent, for an exponent from 0 to 20: a Taylor sum, and the sum
    with its rest.
    """
    assert 0 <= exponent <= 20
    low = high = term_low = term_high = GRID
    for index in range(1, EXP_TERMS):
        term_low = term_low * exponent.numerator // (exponent.denominator * index)
        term_high = -(-term_high * exponent.numerator // (exponent.denominator * index))
        low, high = low + term_low, high + term_high
    # each later term is less than half the one before, so that together they are below the last
    rest = term_high
    return Fraction(low, GRID), Fraction(high + rest, GRID)


def ln_bounds(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals around ln(ratio), for a ratio of at least 1: halvings times ln 2, and the
    rest by artanh.
    """
    assert ratio >= 1
    halvings = 0
    while ratio >= 2:
        ratio, halvings = ratio / 2, halvings + 1
    low_2, high_2 = _double_artanh(Fraction(1, 3))
    low, high = _double_artanh((ratio - 1) / (ratio + 1))
    return halvings * low_2 + low, halvings * high_2 + high


@lru_cache(maxsize=1024)
def _double_artanh(z: Fraction) -> tuple[Fraction, Fraction]:
    low = high = 0
    square_low, square_high = floor(z * z), ceiling(z * z)
    power_low, power_high = floor(z), ceiling(z)
    for index in range(ATANH_TERMS):
        low += power_low // (2 * index + 1)
        high -= -power_high // (2 * index + 1)
        power_low, power_high = power_low * square_low // GRID, -(-power_high * square_high // GRID)
    rest = Fraction(power_high, GRID - square_high)
    return Fraction(2 * low, GRID), 2 * (Fraction(high, GRID) + rest)
