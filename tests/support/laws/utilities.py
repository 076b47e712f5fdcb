"""Utilities for the exponential mechanism: seeded ones, lopsided ones, and ones in extreme
units.
"""

from __future__ import annotations

import random
from fractions import Fraction

from client_sdk.protocol.mechanisms.catalogue import Utility


def table_of(*rows: str) -> Utility:
    return [[Fraction(utility) for utility in row.split()] for row in rows]


def seeded(seed: int) -> Utility:
    """Return utilities from -9 to 9 of 2 to 7 values; each value is the most useful for itself."""
    drawn = random.Random(seed)  # noqa: S311 a reproducible table
    size = 2 + seed % 6
    return [[Fraction(9 if x == y else drawn.randrange(-9, 9)) for y in range(size)] for x in range(size)]


ASYMMETRIC = table_of("0 -1 -5", "-2 0 -1", "-7 -3 0")
TABLES: dict[str, Utility] = {
    **{f"seed {seed}": seeded(seed) for seed in range(12)},
    "asymmetric": ASYMMETRIC,
    "ties": table_of("1 1 0 0", "0 1 1 0", "0 0 1 1", "1 0 0 0"),
    "one value useful to all": table_of("5 0 0", "5 1 0", "5 0 2"),
    "huge unit": table_of("0 -1e100", "-1e100 0"),
    "tiny unit": table_of("0 -1e-100", "-2e-100 0"),
    "units of both": table_of("0 -1e100 1e-100", "-1e100 0 -1e-100", "-1e100 -1e100 0"),
    "thirds": table_of("1/3 0 1/7", "0 2/3 1/5", "-1/9 1/11 1"),
}
