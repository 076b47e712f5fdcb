"""Epsilon as it is declared, charged and printed: in billionths, rounded up.

Epsilon is computed from a channel's integers, and is the same on every machine. ``decimal`` rounds
``exp`` and ``ln`` correctly, half to even. Therefore the true value is within one unit in the last
place of the result. The C library's ``exp`` and ``log`` are not always rounded correctly. If the C
functions were used, two machines could derive different channels from one definition, and the
collector would refuse reports.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import nextafter

NANOS = 10**9
"""The number of units in an epsilon of 1. Charges are whole units, so that their sums are exact."""

PURE = Fraction(0)
"""The delta of pure differential privacy, which most mechanisms satisfy."""


@lru_cache(maxsize=256)
def nanos_ceiling(ratio: Fraction) -> int:
    """Return the charge for a `Channel.worst_ratio`: ln(ratio) in billionths, rounded up.

    Results are cached, because a device calls this function for each new permanent answer.
    Computing a logarithm takes twenty times as long as reading a cached result.
    """
    return -(-ln_ceiling(ratio) * NANOS // 1)


def as_float(nanos: int) -> float:
    """Convert an epsilon given in billionths to a float, rounded up."""
    return float_ceiling(Fraction(nanos, NANOS))


PRECISION_DIGITS = 50
"""The number of decimal digits of intermediate results. 64-bit numerators need only 20 digits."""

DOWN = Context(prec=PRECISION_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
_UP = Context(prec=PRECISION_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)


def exp_floor(exponent: Fraction) -> Fraction:
    """Return a rational number below e**exponent; the relative error is below 10**-48."""
    below = DOWN.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return Fraction(DOWN.next_minus(DOWN.exp(below)))


def ln_ceiling(ratio: Fraction) -> Fraction:
    """Return ln(ratio) as a rational number, rounded up, for a ratio of at least 1."""
    if ratio < 1:
        raise ValueError(f"a worst ratio is at least 1, not {float(ratio)}")
    if ratio == 1:
        return Fraction(0)
    above = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return Fraction(_UP.next_plus(_UP.ln(above)))


def float_ceiling(value: Fraction) -> float:
    """Return a value as a float, rounded up."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, float("inf"))
