"""Directed exponential and logarithm: the same integers on every machine.

``decimal`` rounds ``exp`` and ``ln`` correctly, half to even, on every machine. One unit in the
last place to either side therefore encloses the true value. libm makes no such promise: two
machines could derive different channels from one definition, and would then refuse each other's
reports.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import nextafter

PRECISION_DIGITS = 50
"""Decimal digits: 64-bit numerators need 20; the rest is room for the steps between."""

DOWN = Context(prec=PRECISION_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
_UP = Context(prec=PRECISION_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)


def exp_floor(exponent: Fraction) -> Fraction:
    """Return a rational no larger than e**exponent, by less than one part in 10**48."""
    below = DOWN.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return Fraction(DOWN.next_minus(DOWN.exp(below)))


def ln_ceiling(ratio: Fraction) -> Fraction:
    """Return a rational no smaller than ln(ratio), for a ratio of at least 1.

    Raises:
        ValueError: if the ratio is below 1.

    """
    if ratio < 1:
        raise ValueError(f"a worst ratio is at least 1, not {float(ratio)}")
    if ratio == 1:
        return Fraction(0)
    above = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return Fraction(_UP.next_plus(_UP.ln(above)))


def float_ceiling(value: Fraction) -> float:
    """Return the least float that is not below the value, so that a privacy loss rounds up."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, float("inf"))
