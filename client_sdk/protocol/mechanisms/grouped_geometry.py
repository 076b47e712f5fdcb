"""Grouped geometry: a device draws a hash function, and reports the noisy hash of a string.

There are several public hash functions. Devices that draw the same hash function form a *group*.
The function maps a string to a *cell*, an integer from 0 to K - 1. The input for one string
contains the string's cell in each group. The channel draws a group, independently of the string,
and perturbs the string's cell in this group by a projective geometry. The symbol reveals the group.

An answer may also be a list of up to m strings. The input then has m different cells in every
group. The last m of the K cells are dummies, which fill up short lists. A pair geometry
(`pair_geometry`) perturbs the m cells. Each point of the pair geometry is a cell. The proof of
privacy for pair geometries applies to any m different points.

Every pair of points is in the same number of blocks, but not every triple. The line through two
points contains q - 1 other points. Every block that contains the two points contains the whole
line. If the cells of a device's two strings and a third cell are on one line, the third cell's
estimated share is too small. The error is at most about 2/q times the share of devices that have
both strings. In each group, a given third cell is on this line with probability (q - 1)/K. The
estimator corrects the average error. Two strings share a cell with probability 1/K. Strings that
share a cell cause larger errors than three cells on a line.

There are two types of groups. A *level* is a group that hashes only the leading bits of a string,
to discover frequent strings step by step. Each level hashes more bits than the previous level. A
*confirming* group hashes all bits, to confirm the discovered strings. The metric's definition
determines groups, weights and hashes. The hash is multilinear modulo 2**31 - 1, then reduced modulo
K. Hashes of different groups are independent (Carter & Wegman 1979, "Universal classes of hash
functions").

Sources: Feldman, Nelson, Nguyen & Talwar 2022, "Private frequency estimation via projective
geometry", section 3; Bassily, Nissim, Stemmer & Thakurta 2017, "Practical locally private heavy
hitters", section 3 (groups of devices).
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
from client_sdk.protocol.mechanisms.pair_geometry import PairBlocks, PairGeometry
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

FARTHEST: Final = 2
"""The maximum factor by which a geometry may have more or fewer points than desired."""

PER_TWOFOLD: Final = Fraction(1, 50)
"""When geometries are compared, the variance of a geometry with twice or half the desired number of
points is increased by this share."""

LEAST_PRIME: Final = 2
"""The smallest prime that is tried. Pair geometry cannot use 2, because the blocks would not
distinguish the elements of a pair from other elements."""


class Geometry(NamedTuple):
    """The projective geometry PG(dimension - 1, prime), and the number of its points."""

    prime: int
    dimension: int
    points: int


@lru_cache
def geometry_for(odds: Fraction, cells: int, drawn: int = 1) -> Geometry:
    """Return the projective geometry with about ``cells`` points and the smallest variance.

    Each point is a cell. `PER_TWOFOLD` adjusts the variances, which hardly depend on the number of
    cells. Fewer cells make tallies smaller. With more cells, fewer strings share a cell. ``odds``
    is e**epsilon, and ``drawn`` is m, the maximum number of strings in an answer.
    """

    def cost(candidate: tuple[Geometry, int, int]) -> Fraction:
        geometry, block, common = candidate
        variance = (
            design_variance(geometry.points, geometry.points, block, common, odds)
            if drawn == 1
            else PairBlocks(geometry.prime, geometry.dimension, drawn).rare_variance(odds)
        )
        distance = Fraction(max(geometry.points, cells), min(geometry.points, cells))
        return variance * (1 + PER_TWOFOLD * (distance - 1))

    known = (each for each in _geometries(cells) if drawn == 1 or each[0].prime > LEAST_PRIME)
    geometry, _, _ = min(known, key=cost)
    return geometry


def _geometries(cells: int) -> Iterator[tuple[Geometry, int, int]]:
    """Yield each geometry with an acceptable number of points, and two sizes of the geometry.

    The sizes are the number of points on a hyperplane, and the number of points that two
    hyperplanes have in common.
    """
    prime = LEAST_PRIME
    while prime * prime <= FARTHEST * cells:
        common, block, points, dimension = 1, prime + 1, prime * prime + prime + 1, 3
        while is_prime(prime) and points <= FARTHEST * cells:
            if FARTHEST * points >= cells:
                yield Geometry(prime, dimension, points), block, common
            common, block, points, dimension = block, points, points * prime + 1, dimension + 1
        prime += 1


@dataclass(frozen=True, slots=True)
class CellPairs(PairGeometry):
    """The pair geometry in which every point is an element, even if three points are on a line."""

    def vector(self, element: int) -> tuple[int, ...]:
        """Return the canonical vector of a point."""
        return self.geometry.vector(element)


@dataclass(frozen=True, slots=True)
class GroupedGeometry(Channel):
    """The channel from the cells of all groups to a symbol of one randomly drawn group.

    Attributes:
        geometry: the channel that perturbs the cell, or the m cells, of the drawn group. The K
            points of the geometry are the cells.
        weights: the weight of each group. The probability that a group is drawn is proportional to
            its weight.
    """

    name: ClassVar[str] = "grouped-geometry"

    geometry: ProjectiveGeometry | CellPairs
    weights: tuple[int, ...]
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", tuple(accumulate(self.weights)))

    @classmethod
    def build(cls, request: ChannelRequest) -> GroupedGeometry:
        """Return the channel for a request about strings."""
        kind: Any = request.kind  # only the kind ``text`` has cells
        prime, dimension, points = geometry_for(request.epsilon.odds, kind.cells, kind.max_items)
        weights = tuple(group.weight for group in kind.groups(points))
        return cls.within(request.epsilon, prime, dimension, weights, kind.max_items)

    @classmethod
    def within(
        cls, epsilon: RequestedEpsilon, prime: int, dimension: int, weights: tuple[int, ...], drawn: int = 1
    ) -> GroupedGeometry:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows.

        ``prime`` and ``dimension`` are q and t of PG(t-1, q). ``drawn`` is m, the maximum number of
        strings in an answer. If m is above 1, q must be odd.
        """
        points = (prime**dimension - 1) // (prime - 1)
        if drawn == 1:
            return cls(ProjectiveGeometry.within(epsilon, points, prime, dimension), weights)
        return cls(CellPairs.within(epsilon, points, PairBlocks(prime, dimension, drawn)), weights)

    @property
    def inputs(self) -> int:
        """K, the number of cells. An input has one cell, or m cells, for each group."""
        return self.geometry.symbols

    @property
    def pairs(self) -> CellPairs | None:
        """The `geometry` if an answer is a list of strings; None if an answer is one string."""
        return self.geometry if isinstance(self.geometry, CellPairs) else None

    @property
    def dummies(self) -> int:
        """The number of cells that are dummies: m, or 0 if an answer is one string."""
        return 0 if self.pairs is None else self.pairs.drawn

    @property
    def points(self) -> ProjectiveGeometry:
        """The projective geometry whose points are the cells."""
        return self.geometry.geometry if isinstance(self.geometry, CellPairs) else self.geometry

    @property
    def symbols(self) -> int:
        """The number of symbols: K for each group."""
        return len(self.weights) * self.inputs

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channel, keyed by name."""
        return {**self.geometry.integers, "weights": self.weights}

    @property
    def worst_ratio(self) -> Fraction:
        """The geometry's `worst_ratio`. The drawn group reveals nothing about the input."""
        return self.geometry.worst_ratio

    def probability(self, symbol: int, given: Sequence[Any]) -> Fraction:
        """Return P(symbol | given), where ``given`` has a cell or m cells for each group."""
        group, point = divmod(symbol, self.inputs)
        drawn = Fraction(self.weights[group], self._ends[-1])
        return drawn * self.geometry.probability(point, given[group])

    def perturb(self, value: Sequence[Any], coins: Coins) -> int:
        """Return a random symbol for ``value``, which has a cell or m cells for each group."""
        group = bisect_right(self._ends, coins.below(self._ends[-1]))
        return group * self.inputs + self.geometry.perturb(value[group], coins)


MOST_STEP_BITS: Final = 10
"""The maximum number of bits by which the hashed prefix of a string grows from one level to the
next. A discovered prefix of a string then has up to 2**10 continuations on the next level."""

LEAST_STEP_BITS: Final = 4
"""The minimum number of bits by which the hashed prefix of a string grows from one level to the
next. With fewer bits, a long string would need too many levels."""

POPULATION_BITS: Final = 7
"""The number of cells is at least 2**7 times the number of continuations of a prefix. With fewer
cells, too many wrong continuations would share a cell with a common string and would be kept by
mistake."""

EARLY_LETTERS: Final = 8
"""Levels with prefixes up to this length, in letters, get twice as many devices as later levels.
Most words differ from all other words within 8 letters."""

EARLY_WEIGHT: Final = 8

LATE_WEIGHT: Final = 4

CONFIRMING_QUARTERS: Final = 3
"""The weight of a confirming group, in quarters of the last level's weight."""

CONFIRMING: Final = 2
"""The number of confirming groups. With only one confirming group, two strings in the same cell
could not be distinguished."""

LIMB_BITS: Final = 30
"""A hash divides a string's bits into limbs of this many bits, and multiplies each limb by a
number. The products stay below 2**61."""

MODULUS: Final = 2**31 - 1
"""The prime modulus of the hashes."""

_SEED: Final = b"hearsay text 1"
_WORD_BYTES: Final = 4
_SPARE_WORDS: Final = 4
"""The number of spare random words. A word that equals `MODULUS` is replaced, which happens for one
in 2**31 words."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of devices, which all hash the leading bits of their strings in the same way.

    Attributes:
        bits: the number of leading bits of a string that are hashed.
        weight: the weight of the group. The group's share of all devices is proportional to its
            weight.
        multipliers: the coefficients of the multilinear hash: first the constant term, then a
            factor for each `LIMB_BITS` bits of a string, the lowest bits first.
    """

    bits: int
    weight: int
    multipliers: tuple[int, ...]

    def cell(self, received: int, cells: int) -> int:
        """Return the cell (0 to ``cells`` - 1) of a string whose leading bits are ``received``."""
        return self.hashed(received) % cells

    def hashed(self, received: int) -> int:
        """Return the hash of a string's leading bits ``received``, from 0 to `MODULUS` - 1."""
        total, *multipliers = self.multipliers
        for multiplier in multipliers:
            total += (received & (1 << LIMB_BITS) - 1) * multiplier % MODULUS
            received >>= LIMB_BITS
        return total % MODULUS


def groups_of(letters: str, max_length: int, cells: int, *, discover: bool) -> tuple[Group, ...]:
    """Return the groups of a metric: one for each level, then the confirming groups."""
    bits = max_length * letter_bits(letters)
    sizes = _sizes(bits, letter_bits(letters), cells) if discover else [(bits, 1)] * CONFIRMING
    seed = _SEED + sha256(letters.encode()).digest() + max_length.to_bytes(2, "big")
    return tuple(Group(*size, _multipliers(seed + bytes([number]), size[0])) for number, size in enumerate(sizes))


def step_bits(cells: int) -> int:
    """Return the number of bits by which the hashed prefix of a string grows with each level."""
    return max(LEAST_STEP_BITS, min(MOST_STEP_BITS, cells.bit_length() - 1 - POPULATION_BITS))


def letter_bits(letters: str) -> int:
    """Return the number of bits that encode one letter or a mark for the end of a string."""
    return len(letters).bit_length()


def _sizes(bits: int, of_letter: int, cells: int) -> list[tuple[int, int]]:
    """Return the number of bits and the weight of each group."""
    ends = [*range(cells.bit_length() - 1, bits, step_bits(cells)), bits]
    levels = [(end, EARLY_WEIGHT if end <= EARLY_LETTERS * of_letter else LATE_WEIGHT) for end in ends]
    return levels + [(bits, levels[-1][1] * CONFIRMING_QUARTERS // 4)] * CONFIRMING


def _multipliers(seed: bytes, bits: int) -> tuple[int, ...]:
    """Return a group's `Group.multipliers`, all uniform from 0 to `MODULUS` - 1."""
    needed = 1 - (-bits // LIMB_BITS)
    stream = shake_256(seed).digest(_WORD_BYTES * (needed + _SPARE_WORDS))
    words = [
        int.from_bytes(stream[start : start + _WORD_BYTES], "big") & MODULUS
        for start in range(0, len(stream), _WORD_BYTES)
    ]
    return tuple(word for word in words if word < MODULUS)[:needed]
