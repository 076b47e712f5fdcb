"""The binary logarithm of an exact number, in whole steps: the same integers on every machine."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

STEPS: Final = 64
"""A step is 2**-64: no coin of a rounding tells less."""

DIGITS: Final = 128
"""Binary digits between. Each squaring doubles the error, so that half of them are left in the end:
the result is at most one step below the floor of the true one, and never falls as numbers rise.
"""


def log_units(number: Fraction) -> int:
    """Return log2 of a number of at least 1, in steps of 2**-64.

    A digit says whether the square of the rest reaches 2 (Knuth, The Art of Computer Programming 1,
    section 1.2.2, exercise 25).

    >>> log_units(Fraction(8)) == 3 * 2**64
    True

    """
    power = (number.numerator // number.denominator).bit_length() - 1
    rest, units = (number.numerator << DIGITS) // (number.denominator << power), power
    for _ in range(STEPS):
        rest = rest * rest >> DIGITS
        digit = rest >> DIGITS + 1
        rest, units = rest >> digit, 2 * units + digit
    return units
