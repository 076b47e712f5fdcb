"""Grouped geometry: a group is drawn, and the input's cell in this group is reported.

An input has a cell in every group, each from 0 to K - 1. The channel draws the group with coins
that do not depend on the input, and reports the cell by a projective geometry. The symbol reveals
the group. If the group depended on the answer, the group could reveal the answer, and ratios of
probabilities would be infinite.

A group on a level receives the leading bits of a text; a confirming group receives all bits. The
text's cell is the group's hash of these bits. Groups, weights and hashes are derived only from the
question. The hash is multilinear over the integers modulo 2**31 - 1, then reduced modulo the number
of cells. In each group, the probability that two texts share a cell is about one over the number of
cells, independently of other groups (Carter & Wegman 1979, "Universal classes of hash functions").

Source of the geometry: Feldman, Nelson, Nguyen & Talwar 2022, "Private frequency estimation via
projective geometry", section 3. Source of the groups of devices: Bassily, Nissim, Stemmer &
Thakurta 2017, "Practical locally private heavy hitters", section 3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256, shake_256
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from client_sdk.protocol.channel import Channel, Coins
from client_sdk.protocol.mechanisms.designs import design_variance, is_prime
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

FARTHEST: Final = 2
"""The maximum ratio, in either direction, of a geometry's points to the desired number."""

PER_TWOFOLD: Final = Fraction(1, 50)
"""The penalty, as a share of the variance, for twice or half the desired number of points."""


class Geometry(NamedTuple):
    """PG(dimension - 1, prime) and its number of points."""

    prime: int
    dimension: int
    points: int


@lru_cache
def geometry_for(odds: Fraction, cells: int) -> Geometry:
    """Return the best geometry with about ``cells`` points for e**epsilon = ``odds``.

    The variance of a cell's share hardly depends on the number of cells. With fewer cells, tallies
    are smaller. With more cells, fewer texts share a cell.

    Args:
        odds: e**epsilon, above 1.
        cells: the desired number of points, from 2**8.

    """

    def cost(candidate: tuple[Geometry, int, int]) -> Fraction:
        geometry, block, common = candidate
        variance = design_variance(geometry.points, geometry.points, block, common, odds)
        distance = Fraction(max(geometry.points, cells), min(geometry.points, cells))
        return variance * (1 + PER_TWOFOLD * (distance - 1))

    geometry, _, _ = min(_geometries(cells), key=cost)
    return geometry


def _geometries(cells: int) -> Iterator[tuple[Geometry, int, int]]:
    """Yield geometries of the right size, with the points per hyperplane and per two of them."""
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
    """The channel from one cell per group to the symbols of all groups.

    Attributes:
        geometry: the channel of a cell; all its K points are inputs.
        weights: the weight of each group. The probability of a group is its weight over the sum.

    """

    name: ClassVar[str] = "grouped-geometry"

    geometry: ProjectiveGeometry
    weights: tuple[int, ...]
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the running sums of the weights."""
        object.__setattr__(self, "_ends", tuple(accumulate(self.weights)))

    @classmethod
    def build(cls, request: ChannelRequest) -> GroupedGeometry:
        """Return the channel for a text's cells and groups."""
        kind: Any = request.kind  # a text: no other kind has cells
        prime, dimension, points = geometry_for(request.epsilon.odds, kind.cells)
        return cls.within(request.epsilon, prime, dimension, tuple(group.weight for group in kind.groups(points)))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, prime: int, dimension: int, weights: tuple[int, ...]) -> GroupedGeometry:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        points = (prime**dimension - 1) // (prime - 1)
        return cls(ProjectiveGeometry.within(epsilon, points, prime, dimension), weights)

    @property
    def inputs(self) -> int:
        """K. An input is a tuple with one cell, from 0 to K - 1, for each group."""
        return self.geometry.symbols

    @property
    def symbols(self) -> int:
        """The number of symbols: K per group."""
        return len(self.weights) * self.inputs

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel."""
        return {**self.geometry.integers, "weights": self.weights}

    @property
    def worst_ratio(self) -> Fraction:
        """The geometry's ratio, because the drawn group reveals nothing about the input."""
        return self.geometry.worst_ratio

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` has a cell for each group."""
        group, point = divmod(symbol, self.inputs)
        drawn = Fraction(self.weights[group], self._ends[-1])
        return drawn * self.geometry.probability(point, given[group])

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the symbol to report; ``value`` has a cell for each group."""
        group = bisect_right(self._ends, coins.below(self._ends[-1]))
        return group * self.inputs + self.geometry.perturb(value[group], coins)


MOST_STEP_BITS: Final = 10
"""The maximum number of bits that a level adds. A discovered prefix has 2**10 continuations."""

LEAST_STEP_BITS: Final = 4
"""The minimum number of bits that a level adds. With fewer, a long text needs too many levels."""

POPULATION_BITS: Final = 7
"""The number of cells must be at least 2**7 times the number of continuations of a prefix.
Otherwise, at every level, some continuation shares a cell with one of the hundred most common
texts, and the number of false candidates grows.
"""

EARLY_LETTERS: Final = 8
"""Most words differ from all other words within this many letters.

The levels for these letters get twice as many devices.
"""

EARLY_WEIGHT: Final = 8

LATE_WEIGHT: Final = 4

CONFIRMING_QUARTERS: Final = 3
"""The weight of a confirming group, in quarters of the last level's weight. Together, the
confirming groups confirm the candidates of the last level.
"""

CONFIRMING: Final = 2
"""The number of confirming groups. With only one group, two texts in the same cell could not be
distinguished."""

LIMB_BITS: Final = 30
"""The number of a text's bits that one multiplier covers. A product then stays below 2**61."""

MODULUS: Final = 2**31 - 1
"""The prime modulo which hashes are computed."""

_SEED: Final = b"hearsay text 1"
_WORD_BYTES: Final = 4
_SPARE_WORDS: Final = 4
"""The number of additional words to derive, because one word in 2**31 is refused."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of devices: the part of a text that its devices report, and its hash.

    Attributes:
        bits: the number of leading bits of a text that the group receives.
        weight: the weight of the group. Its share of all devices is its weight divided by the sum.
        multipliers: the summand of the group's hash, then a multiplier for each limb of `LIMB_BITS`
            bits, the lowest limb first.

    """

    bits: int
    weight: int
    multipliers: tuple[int, ...]

    def cell(self, received: int, cells: int) -> int:
        """Return the cell, from 0 to ``cells`` - 1, of the bits that the group receives."""
        return self.hashed(received) % cells

    def hashed(self, received: int) -> int:
        """Return the hash of the bits that the group receives, from 0 to `MODULUS` - 1."""
        total, *multipliers = self.multipliers
        for multiplier in multipliers:
            total += (received & (1 << LIMB_BITS) - 1) * multiplier % MODULUS
            received >>= LIMB_BITS
        return total % MODULUS


def groups_of(letters: str, max_length: int, cells: int, *, discover: bool) -> tuple[Group, ...]:
    """Return the groups of a question: the levels, then the confirming groups.

    Args:
        letters: the letters of a text, in the registry's order.
        max_length: L, the maximum number of letters in a text.
        cells: the number of cells of every hash.
        discover: whether there are levels; otherwise, all groups are confirming groups.

    """
    bits = max_length * letter_bits(letters)
    sizes = _sizes(bits, letter_bits(letters), cells) if discover else [(bits, 1)] * CONFIRMING
    seed = _SEED + sha256(letters.encode()).digest() + max_length.to_bytes(2, "big")
    return tuple(Group(*size, _multipliers(seed + bytes([number]), size[0])) for number, size in enumerate(sizes))


def step_bits(cells: int) -> int:
    """Return how many bits a level adds to those of the previous level, for ``cells`` cells."""
    return max(LEAST_STEP_BITS, min(MOST_STEP_BITS, cells.bit_length() - 1 - POPULATION_BITS))


def letter_bits(letters: str) -> int:
    """Return c, the number of bits that distinguish all letters and the end of a text."""
    return len(letters).bit_length()


def _sizes(bits: int, of_letter: int, cells: int) -> list[tuple[int, int]]:
    """Return each group's number of bits and weight. On the first level, prefixes share no cell."""
    ends = [*range(cells.bit_length() - 1, bits, step_bits(cells)), bits]
    levels = [(end, EARLY_WEIGHT if end <= EARLY_LETTERS * of_letter else LATE_WEIGHT) for end in ends]
    return levels + [(bits, levels[-1][1] * CONFIRMING_QUARTERS // 4)] * CONFIRMING


def _multipliers(seed: bytes, bits: int) -> tuple[int, ...]:
    """Return a summand, and a multiplier for each limb, all uniform from 0 to `MODULUS` - 1."""
    needed = 1 - (-bits // LIMB_BITS)
    stream = shake_256(seed).digest(_WORD_BYTES * (needed + _SPARE_WORDS))
    words = [
        int.from_bytes(stream[start : start + _WORD_BYTES], "big") & MODULUS
        for start in range(0, len(stream), _WORD_BYTES)
    ]
    return tuple(word for word in words if word < MODULUS)[:needed]
