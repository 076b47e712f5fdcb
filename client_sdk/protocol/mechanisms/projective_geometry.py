"""Projective geometry response: answers and reports are points of the geometry PG(t-1, q).

Two points are *orthogonal* if the inner product of their vectors is 0 modulo q. With a known
probability, the reported point is orthogonal to the answer's point; otherwise, the reported point
is not orthogonal. In each of these two cases, all possible points are equally likely. For every
pair of points, the number of points that are orthogonal to both is the same. Therefore the channel
treats all pairs of answers alike. Each point is one symbol.

A point is represented by its canonical vector: t integers from 0 to q - 1, with 1 as the first
nonzero coordinate. Points are numbered in the order of these vectors, read as integers in base q.
The first vector with m digits after the leading 1 has the number (q**m - 1) / (q - 1).

Source: Feldman, Nelson, Nguyen & Talwar 2022, "Private frequency estimation via projective
geometry", section 3. In the paper, a point that is drawn in the second case may also be orthogonal.
This would add ln(q/(q-1)) to epsilon.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import COIN_SCALE, MOST_LIKELIEST, Channel, Coins
from client_sdk.protocol.mechanisms.designs import design_of
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest


@dataclass(frozen=True, slots=True)
class ProjectiveGeometry(Channel):
    """The channel that prefers points orthogonal to the answer's point.

    Attributes:
        inputs: k, the number of answers, at most the number of points.
        prime: q, the modulus of coordinates.
        dimension: t, the number of coordinates of a vector, at least 3.
        keep_numerator: the probability that the reported point is orthogonal to the answer's point,
            times 2**64.
    """

    name: ClassVar[str] = "projective-geometry"

    inputs: int
    prime: int
    dimension: int
    keep_numerator: int
    _powers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        powers = tuple(self.prime**digits for digits in range(self.dimension + 1))
        object.__setattr__(self, "_powers", powers)
        object.__setattr__(self, "_firsts", tuple((power - 1) // (self.prime - 1) for power in powers))

    @classmethod
    def build(cls, request: ChannelRequest) -> ProjectiveGeometry:
        """Return the channel for a request. `designs.design_of` selects the geometry."""
        prime, dimension = design_of(cls.name, request.size, request.epsilon.odds)
        return cls.within(request.epsilon, request.size, prime, dimension)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, prime: int, dimension: int) -> ProjectiveGeometry:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        orthogonal = (prime ** (dimension - 1) - 1) // (prime - 1)
        weight = epsilon.odds * orthogonal
        return cls(inputs, prime, dimension, int(COIN_SCALE * weight / (weight + prime ** (dimension - 1))))

    @property
    def symbols(self) -> int:
        """The number of points, (q**t - 1) / (q - 1)."""
        return self._firsts[self.dimension]

    @property
    def orthogonal(self) -> int:
        """The number of points that are orthogonal to any given point."""
        return self._firsts[self.dimension - 1]

    @property
    def common(self) -> int:
        """The number of points that are orthogonal to both of two given points."""
        return self._firsts[self.dimension - 2]

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {
            "inputs": self.inputs,
            "prime": self.prime,
            "dimension": self.dimension,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """The probability of an orthogonal point, divided by that of a non-orthogonal point."""
        others = self.symbols - self.orthogonal
        return Fraction(self.keep_numerator * others, (COIN_SCALE - self.keep_numerator) * self.orthogonal)

    def vector(self, point: int) -> tuple[int, ...]:
        """Return the canonical vector of a point, with t coordinates from 0 to q - 1."""
        number = self.number(point)
        return tuple(number // power % self.prime for power in reversed(self._powers[: self.dimension]))

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        product = sum(a * b for a, b in zip(self.vector(symbol), self.vector(given), strict=True))
        if product % self.prime == 0:
            return Fraction(self.keep_numerator, COIN_SCALE * self.orthogonal)
        others = self.symbols - self.orthogonal
        return Fraction(COIN_SCALE - self.keep_numerator, COIN_SCALE * others)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the first few inputs whose points are orthogonal to the symbol's point."""
        kept = Fraction(self.keep_numerator, COIN_SCALE) / self.orthogonal
        return list(
            islice((each for each in range(self.inputs) if self.probability(symbol, each) == kept), MOST_LIKELIEST)
        )

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a point that is orthogonal to the value's point (*kept answer*) or not (*lie*).

        The *pivot* is the position of the leading 1 in the value's vector. All other coordinates of
        the reported vector are drawn. For a kept answer, the drawn coordinates are a random point
        of PG(t-2, q). For a lie, the drawn coordinates are arbitrary. The coordinate at the pivot
        is then computed. This coordinate makes the inner product with the value's vector 0 for a
        kept answer, and 1 for a lie. Every point that is not orthogonal has exactly one vector with
        product 1. Therefore no draw is rejected.

        The duration must not reveal whether the report is a lie. Therefore:

        * Coordinates for a kept answer and for a lie are both drawn.
        * The vector is divided by its first nonzero coordinate, even if this coordinate is 1.
        * The division takes the same number of steps for all vectors.

        Each draw is the index of a point. For a kept answer, the point is in PG(t-2, q). For a lie,
        the index is above all indices of PG(t-2, q). This index belongs to a vector with a leading
        1 and t - 1 arbitrary digits, and the leading 1 is dropped.
        """
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self._firsts[-2])
        lie = self._firsts[-2] + coins.below(self._powers[-2])
        free = self.number(kept if keep else lie) % self._powers[-2]
        after_pivot = bisect_right(self._firsts, value) - 1
        tail = value - self._firsts[after_pivot]
        scale = self._powers[after_pivot]
        before, after = divmod(free, scale)
        pivot = ((not keep) - self._product(tail, after)) % self.prime
        return self.point((before * self.prime + pivot) * scale + after)

    def number(self, point: int) -> int:
        """Return a point's canonical vector, read as an integer in base q."""
        digits = bisect_right(self._firsts, point) - 1
        return self._powers[digits] + point - self._firsts[digits]

    def _product(self, left: int, right: int) -> int:
        """Return the inner product of two vectors of t - 1 coordinates, in constant time."""
        prime, product = self.prime, 0
        for _ in range(self.dimension - 1):
            left, left_digit = divmod(left, prime)
            right, right_digit = divmod(right, prime)
            product += left_digit * right_digit
        return product

    def point(self, number: int) -> int:
        """Return the point of the nonzero vector that ``number`` represents in base q."""
        digits = bisect_right(self._powers, number) - 1
        leading, rest = divmod(number, self._powers[digits])
        prime, scaled = self.prime, 0
        factor = pow(leading, prime - 2, prime)  # the inverse, by Fermat
        for power in self._powers[: self.dimension - 1]:
            rest, digit = divmod(rest, prime)
            scaled += digit * factor % prime * power
        return self._firsts[digits] + scaled
