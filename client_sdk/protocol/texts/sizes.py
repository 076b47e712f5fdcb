"""Which projective geometry hides the cells of a grouped geometry.

The variance of a cell's share hardly depends on the number of cells. Fewer cells make smaller
tallies; more let fewer texts share a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from client_sdk.protocol.mechanisms.designs import design_variance, is_prime

FARTHEST: Final = 2
"""A geometry has at most twice, and at least half, as many points as cells are wanted."""

PER_TWOFOLD: Final = Fraction(1, 50)
"""Twice or half as many points as wanted are as bad as 2 % more variance."""


class Geometry(NamedTuple):
    """PG(dimension - 1, prime) and its number of points."""

    prime: int
    dimension: int
    points: int


@lru_cache
def geometry_for(odds: Fraction, cells: int) -> Geometry:
    """Return the geometry with about ``cells`` points that suits e**epsilon = ``odds`` best.

    Args:
        odds: e**epsilon, above 1.
        cells: the number of points wanted, from 2**8.

    """

    def cost(candidate: tuple[Geometry, int, int]) -> Fraction:
        geometry, block, common = candidate
        variance = design_variance(geometry.points, geometry.points, block, common, odds)
        distance = Fraction(max(geometry.points, cells), min(geometry.points, cells))
        return variance * (1 + PER_TWOFOLD * (distance - 1))

    geometry, _, _ = min(_geometries(cells), key=cost)
    return geometry


def _geometries(cells: int) -> Iterator[tuple[Geometry, int, int]]:
    """Yield each geometry of the right size, a hyperplane's points, and those that two share."""
    prime = 2
    while prime * prime <= FARTHEST * cells:
        common, block, points, dimension = 1, prime + 1, prime * prime + prime + 1, 3
        while is_prime(prime) and points <= FARTHEST * cells:
            if FARTHEST * points >= cells:
                yield Geometry(prime, dimension, points), block, common
            common, block, points, dimension = block, points, points * prime + 1, dimension + 1
        prime += 1
