"""Epsilon as it is declared, charged and printed: whole billionths, rounded up.

It is computed from the integers of a channel, whatever the registry requested.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from client_sdk.protocol.exact import float_ceiling, ln_ceiling

NANOS = 10**9
"""Units per epsilon of 1. Charges are whole billionths, so that their sums are exact for ever."""

PURE = Fraction(0)
"""The delta of a mechanism whose epsilon holds without exception."""


@lru_cache(maxsize=256)
def nanos_ceiling(ratio: Fraction) -> int:
    """Return ln(ratio) in billionths, rounded up: the charge for a worst ratio of probabilities.

    It is remembered: a ledger needs it for each new permanent answer, and an exact logarithm takes
    twenty times as long as the look-up.
    """
    return -(-ln_ceiling(ratio) * NANOS // 1)


def as_float(nanos: int) -> float:
    """Return billionths of epsilon as a float that is never below the exact value."""
    return float_ceiling(Fraction(nanos, NANOS))
