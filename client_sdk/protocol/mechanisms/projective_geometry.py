"""Projective geometry response: inputs and symbols are points of PG(t-1, q); a point speaks for those orthogonal to it.

With a known probability the reported point is orthogonal to the answer's, else it is not; within either, all points
are alike. Any two hyperplanes meet in equally many points, so that the channel is balanced with as many symbols as
points.

Source: Feldman, Nelson, Nguyen & Talwar 2022, "Private frequency estimation via projective geometry", section 3. (The
sampler here draws the complement of the hyperplane exactly: one that may hit the hyperplane adds ln(q/(q-1)) to
epsilon.)

A point is written by its canonical vector over Z_q, whose first coordinate that is not 0 is 1. The vectors are
numbered in the order of the integers that they are in base q: m digits after the leading 1 are numbered from
(q**m - 1) / (q - 1).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from client_sdk.protocol.channel import COIN_SCALE, PURE, Coins
from client_sdk.protocol.epsilon import RequestedEpsilon


@dataclass(frozen=True, slots=True)
class ProjectiveGeometry:
    """The channel of points and hyperplanes.

    Attributes:
        inputs: k, at most as many as there are points.
        prime: q.
        dimension: t, coordinates of a vector, at least 3.
        keep_numerator: of 2**64: how often the reported point is orthogonal to the answer's.

    """

    name: ClassVar[str] = "projective-geometry"

    delta: ClassVar[Fraction] = PURE

    inputs: int
    prime: int
    dimension: int
    keep_numerator: int
    _powers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Tabulate q**m, and the number of the first point with m digits after the leading 1, for m from 0 to t."""
        powers = tuple(self.prime**digits for digits in range(self.dimension + 1))
        object.__setattr__(self, "_powers", powers)
        object.__setattr__(self, "_firsts", tuple((power - 1) // (self.prime - 1) for power in powers))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int, prime: int, dimension: int) -> ProjectiveGeometry:
        """Return the channel that keeps most often, of those whose epsilon is not above the requested one."""
        orthogonal = (prime ** (dimension - 1) - 1) // (prime - 1)
        weight = epsilon.odds * orthogonal
        return cls(inputs, prime, dimension, int(COIN_SCALE * weight / (weight + prime ** (dimension - 1))))

    @property
    def symbols(self) -> int:
        """K = (q**t - 1) / (q - 1) points."""
        return self._firsts[self.dimension]

    @property
    def orthogonal(self) -> int:
        """s: how many points are orthogonal to a point."""
        return self._firsts[self.dimension - 1]

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the law."""
        return {
            "inputs": self.inputs,
            "prime": self.prime,
            "dimension": self.dimension,
            "keep_numerator": self.keep_numerator,
        }

    @property
    def worst_ratio(self) -> Fraction:
        """P(a point orthogonal to the answer's) / P(another point)."""
        others = self.symbols - self.orthogonal
        return Fraction(self.keep_numerator * others, (COIN_SCALE - self.keep_numerator) * self.orthogonal)

    def vector(self, point: int) -> tuple[int, ...]:
        """Return the canonical vector of a point, from 0 to symbols - 1: t coordinates of 0..q-1."""
        number = self._number(point)
        return tuple(number // power % self.prime for power in reversed(self._powers[: self.dimension]))

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        product = sum(a * b for a, b in zip(self.vector(symbol), self.vector(given), strict=True))
        if product % self.prime == 0:
            return keep / self.orthogonal
        return (1 - keep) / (self.symbols - self.orthogonal)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a random point that is orthogonal to the value's, or one that is not when the coin says lie.

        Both are drawn in either case: a draw that is made for one of them only would tell by its time which one it was.
        All coordinates but the pivot of the value (its leading 1) are free: those of a point of PG(t-2, q) for a kept
        answer, any for a lie; the pivot then makes the product with the value 0 or 1. Every point that is not
        orthogonal has exactly one vector of product 1, so that nothing is rejected.

        The points that come after those of PG(t-2, q) are a 1 and any t - 1 digits: a lie is one of these, without the
        1, so that the same steps make the free coordinates in either case.
        """
        keep = coins.bernoulli(self.keep_numerator)
        kept = coins.below(self._firsts[-2])
        lie = coins.below(self._powers[-2])
        free = self._number(kept if keep else self._firsts[-2] + lie) % self._powers[-2]
        after_pivot = bisect_right(self._firsts, value) - 1
        tail = value - self._firsts[after_pivot]
        scale = self._powers[after_pivot]
        before, after = divmod(free, scale)
        pivot = ((not keep) - self._product(tail, after)) % self.prime
        return self._point((before * self.prime + pivot) * scale + after)

    def _number(self, point: int) -> int:
        """Return the integer that a point's canonical vector is in base q."""
        digits = bisect_right(self._firsts, point) - 1
        return self._powers[digits] + point - self._firsts[digits]

    def _product(self, left: int, right: int) -> int:
        """Return the inner product of two vectors of at most t - 1 coordinates; all of them are looked at always."""
        prime, product = self.prime, 0
        for _ in range(self.dimension - 1):
            left, one = divmod(left, prime)
            right, other = divmod(right, prime)
            product += one * other
        return product

    def _point(self, number: int) -> int:
        """Return the point of a vector other than 0, after the division by its first coordinate that is not 0."""
        digits = bisect_right(self._powers, number) - 1
        leading, rest = divmod(number, self._powers[digits])
        if leading != 1:
            rest = self._scaled(rest, pow(leading, -1, self.prime))
        return self._firsts[digits] + rest

    def _scaled(self, number: int, factor: int) -> int:
        """Return the integer of a vector that is multiplied by a factor."""
        prime, scaled = self.prime, 0
        for power in self._powers:
            if not number:
                break
            number, digit = divmod(number, prime)
            scaled += digit * factor % prime * power
        return scaled
