"""Rotated axes: a device reports a direction that is often near the direction of its vector.

There are B public rotations. The device draws a rotation, and applies the rotation to its vector of
D coordinates. Each of the D axes has two directions, called *signed axes*. The vector *favors* s
signed axes: the axes of the s coordinates with the largest magnitudes, each in the direction of the
coordinate's sign. With a known probability, the device reports a favored axis. Otherwise, the
device reports one of the 2 D - s other signed axes. Epsilon depends only on D, s and this
probability, and is the same for every vector and rotation.

The number of rotations is finite, so estimates have a small bias. Each window uses different
rotations, so that the biases of several windows average out.

Sources: Isik, Chen, Ozgur, Weissman & No 2023, "Exact optimality of communication-privacy-utility
tradeoffs in distributed mean estimation" (a rotated simplex in place of axes); Ailon & Chazelle
2009, "The fast Johnson-Lindenstrauss transform" (Hadamard transforms of random signs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import shake_256
from itertools import compress, pairwise
from operator import add, mul, sub
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.epsilon import ln_ceiling
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

AXES: Final = 2**19
"""The total number of axes of all rotations. A tally takes a few megabytes."""

_DIMENSIONS: Final = ((6, 128), (7, 512), (20, 1024))
"""Pairs (e, D): for epsilons up to e, rotations have at least D dimensions. With fewer dimensions,
a vector would favor too few axes for a precise mean."""

DIGITS: Final = 9
"""The number of decimals to which epsilon is rounded before computing sizes. An epsilon of 6 in the
registry is then exactly 6, in spite of earlier rounding."""

_SHARES: Final = (
    (0, 500_000),
    (1, 345_513),
    (2, 215_793),
    (3, 122_927),
    (4, 64_805),
    (5, 32_110),
    (6, 15_159),
    (7, 6_893),
    (8, 3_045),
    (9, 1_314),
    (10, 557),
    (12, 96),
    (20, 0),
)
"""Pairs (epsilon, number of favored axes per million signed axes). These numbers minimize the
variance. Linear interpolation for other epsilons adds 0.02% to the variance below epsilon 8."""


OFFSET = 2**8
"""A factor of the 256 possible offsets that `shifted` adds to coordinates. Neighboring offsets
differ by 2 * OFFSET * D. From the smallest to the largest offset, the difference is about 512 *
OFFSET * D. The usual size of a rotated coordinate is 2**20 * D, eight times this range."""

ROUNDS = 3
"""The number of rounds of a rotation. A round multiplies coordinates by random signs and applies a
Hadamard transform. With fewer rounds, vectors with few nonzero coordinates would not point in
random directions."""


class Rotations(NamedTuple):
    """The dimension of a channel, its number of rotations, and its number of favored axes."""

    dimension: int
    rotations: int
    favoured: int


def rotations_for(length: int, odds: Fraction) -> Rotations:
    """Return the sizes of the channel for vectors with ``length`` coordinates.

    The share of favored axes with the smallest variance is 1 - Phi(t), where t solves phi(t) / t -
    (1 - Phi(t)) = 1 / (e**epsilon - 1) (Isik et al. 2023, for directions in high dimension). Here,
    phi and Phi are the density and the distribution function of the standard normal distribution.
    ``length`` is from 1 to 4,095, and ``odds`` is e**epsilon.
    """
    epsilon = round(ln_ceiling(odds), DIGITS)
    least = next(dimension for most, dimension in _DIMENSIONS if epsilon <= most)
    dimension = max(least, 1 << length.bit_length())  # above the length, because one coordinate is added
    favoured = max(1, round(2 * dimension * _share(epsilon)))
    return Rotations(dimension, AXES // dimension, favoured)


def _share(epsilon: Fraction) -> Fraction:
    for (low, of_low), (high, of_high) in pairwise(_SHARES):
        if epsilon <= high:
            return (of_low + (of_high - of_low) * (epsilon - low) / (high - low)) / 10**6
    return Fraction(0)


@dataclass(frozen=True, slots=True)
class RotatedAxes(Channel):
    """The channel from vectors of integers to signed axes of rotations.

    Attributes:
        dimension: D, the number of coordinates; a power of two, at least 8.
        rotations: B, the number of rotations, at least 1.
        favoured: s, the number of favored axes, from 1 to D.
        keep_numerator: the probability that a favored axis is reported, times 2**64.
        window: the name of the window that determines the rotations. The window affects neither
            epsilon nor `Metric.edition`.
    """

    name: ClassVar[str] = "rotated-axes"
    turns: ClassVar[bool] = True

    dimension: int
    rotations: int
    favoured: int
    keep_numerator: int
    window: str = ""

    @classmethod
    def build(cls, request: ChannelRequest) -> RotatedAxes:
        """Return the channel for a request about vectors."""
        length: int = request.kind.length  # type: ignore[attr-defined] # no other kind is a ball
        return cls.within(request.epsilon, *rotations_for(length, request.epsilon.odds))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, dimension: int, rotations: int, favoured: int) -> RotatedAxes:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        weight = epsilon.odds * favoured
        keep = int(COIN_SCALE * weight / (weight + 2 * dimension - favoured))
        return cls(dimension, rotations, favoured, keep)

    def in_window(self, window: str) -> RotatedAxes:
        """Return the same channel with the rotations of a window."""
        return replace(self, window=window)

    @property
    def inputs(self) -> int:
        """The number of coordinates of an input, which is a vector of integers."""
        return self.dimension

    @property
    def symbols(self) -> int:
        """The number of symbols: every signed axis of every rotation."""
        return 2 * self.dimension * self.rotations

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {
            "dimension": self.dimension,
            "rotations": self.rotations,
            "favoured": self.favoured,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The probability of a favored axis, divided by that of an axis that is not favored."""
        others = 2 * self.dimension - self.favoured
        return Fraction(self.keep_numerator * others, (COIN_SCALE - self.keep_numerator) * self.favoured)

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` is an encoded vector of D integers."""
        rotation, axis = divmod(symbol, 2 * self.dimension)
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        is_favoured = axis in self.favoured_axes(shifted(given, rotation, self.window))
        of_axis = keep / self.favoured if is_favoured else (1 - keep) / (2 * self.dimension - self.favoured)
        return of_axis / self.rotations

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the symbol to report for ``value``, an encoded vector of D integers.

        Both a favored axis and an axis that is not favored are always drawn. If only one axis were
        drawn, the duration of the call would reveal whether the reported axis is favored.
        """
        rotation = coins.below(self.rotations)
        favoured = self.favoured_axes(shifted(value, rotation, self.window))
        keep = coins.bernoulli(self.keep_numerator)
        kept = favoured[coins.below(self.favoured)]
        other = self._others(favoured)[coins.below(2 * self.dimension - self.favoured)]
        return 2 * self.dimension * rotation + (kept if keep else other)

    def favoured_axes(self, turned: Sequence[int]) -> list[int]:
        """Return the indices of the s signed axes that a rotated vector favors, in ascending order.

        Axis j has the index 2 j in the positive direction, and 2 j + 1 in the negative direction.
        For equal magnitudes, the earlier coordinate is favored. A coordinate of 0 counts as
        positive.
        """
        largest = sorted(range(self.dimension), key=[-abs(value) for value in turned].__getitem__)[: self.favoured]
        return sorted(2 * place + (turned[place] < 0) for place in largest)

    def _others(self, favoured: list[int]) -> list[int]:
        is_other = bytearray(b"\x01") * (2 * self.dimension)
        for axis in favoured:
            is_other[axis] = 0
        return list(compress(range(2 * self.dimension), is_other))


def shifted(vector: Sequence[int], rotation: int, window: str) -> list[int]:
    """Return a rotated vector of D integers, to which small random offsets are added.

    If a vector has few nonzero coordinates, many coordinates of the rotated vector are equal.
    Without offsets, the smallest change of the vector would decide the order of these coordinates.
    A small change would then affect the estimated mean a hundred times too much.
    """
    return list(map(add, rotated(vector, rotation, window), offsets(len(vector), rotation, window)))


def offsets(dimension: int, rotation: int, window: str) -> list[int]:
    """Return D uniform offsets, from -1/16 to 1/16 of the usual size of a rotated coordinate."""
    stream = shake_256(f"hearsay offset 1 {window} {dimension} {rotation}".encode())
    return [(2 * byte - 255) * OFFSET * dimension for byte in stream.digest(dimension)]


def rotated(vector: Sequence[int], rotation: int, window: str) -> list[int]:
    """Return a vector of D integers, rotated by one of a window's rotations.

    The result is D**1.5 times as long as the vector, so that all coordinates are integers.
    """
    turned = list(vector)
    for step in range(ROUNDS):
        turned = hadamard(list(map(mul, signs(len(turned), rotation, step, window), turned)))
    return turned


def signs(dimension: int, rotation: int, step: int, window: str) -> list[int]:
    """Return D signs from the bits of SHAKE-256, lowest bit of a byte first. Bit 1 means -1."""
    stream = shake_256(f"hearsay rotation 1 {window} {dimension} {rotation} {step}".encode())
    bits = int.from_bytes(stream.digest(dimension // 8), "little")
    return [-1 if bit == "1" else 1 for bit in reversed(f"{bits:0{dimension}b}")]


def hadamard(values: list[int]) -> list[int]:
    """Return the unnormalized Walsh-Hadamard transform of 2**k integers, in natural order.

    Each pass transforms along the lowest bit of the index and moves this bit to the top. After k
    passes, the order is therefore restored.
    """
    for _ in range(len(values).bit_length() - 1):
        even, odd = values[::2], values[1::2]
        values = [*map(add, even, odd), *map(sub, even, odd)]
    return values
