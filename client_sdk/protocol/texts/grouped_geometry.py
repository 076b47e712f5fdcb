"""Grouped geometry: the input's cell in a drawn group goes through a projective geometry.

An input has a cell in every group, all from 0 to K - 1. The group is drawn here, by coins that know
nothing of the input, and stands in the symbol in the clear. Were it chosen by whoever encodes an
answer, it could tell the answer, and no ratio of probabilities would be finite.

Source of the geometry: Feldman, Nelson, Nguyen & Talwar 2022, "Private frequency estimation via
projective geometry", section 3. Groups of devices, each with a question of its own: Bassily,
Nissim, Stemmer & Thakurta 2017, "Practical locally private heavy hitters", section 3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, cast

from client_sdk.protocol.channel import Channel, Coins
from client_sdk.protocol.mechanisms.designs import design_variance, is_prime
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest
    from client_sdk.protocol.texts.text import Text

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

    The variance of a cell's share hardly depends on the number of cells. Fewer cells make smaller
    tallies; more let fewer texts share a cell.

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


@dataclass(frozen=True, slots=True)
class GroupedGeometry(Channel):
    """The channel from one cell a group to the symbols of all groups.

    Attributes:
        geometry: the channel of a cell, all of whose K points are inputs.
        weights: of each group: how often it is drawn, in parts of their sum.

    """

    name: ClassVar[str] = "grouped-geometry"

    geometry: ProjectiveGeometry
    weights: tuple[int, ...]
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Add up the weights."""
        object.__setattr__(self, "_ends", tuple(accumulate(self.weights)))

    @classmethod
    def build(cls, request: ChannelRequest) -> GroupedGeometry:
        """Return the channel for a text's cells and groups."""
        kind = cast("Text", request.kind)  # no other kind has cells
        prime, dimension, points = geometry_for(request.epsilon.odds, kind.cells)
        return cls.within(request.epsilon, prime, dimension, tuple(group.weight for group in kind.groups(points)))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, prime: int, dimension: int, weights: tuple[int, ...]) -> GroupedGeometry:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        points = (prime**dimension - 1) // (prime - 1)
        return cls(ProjectiveGeometry.within(epsilon, points, prime, dimension), weights)

    @property
    def inputs(self) -> int:
        """K: an input is a cell for each group, from 0 to K - 1."""
        return self.geometry.symbols

    @property
    def symbols(self) -> int:
        """The number of symbols: K a group."""
        return len(self.weights) * self.inputs

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the law."""
        return {**self.geometry.integers, "weights": self.weights}

    @property
    def worst_ratio(self) -> Fraction:
        """The geometry's: the group tells nothing."""
        return self.geometry.worst_ratio

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), for the cell of each group."""
        group, point = divmod(symbol, self.inputs)
        drawn = Fraction(self.weights[group], self._ends[-1])
        return drawn * self.geometry.probability(point, given[group])

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the symbol to report for the cell of each group."""
        group = bisect_right(self._ends, coins.below(self._ends[-1]))
        return group * self.inputs + self.geometry.perturb(value[group], coins)
