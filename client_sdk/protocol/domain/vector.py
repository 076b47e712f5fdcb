"""A vector within a ball: such as an embedding, or a gradient, of which the mean is estimated.

Everything is an integer from the first step on, and the same on every machine: each number is taken
as the nearest binary float of 64 bits, divided by the norm, and rounded to a multiple of 2**-20,
half to even.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from operator import mul
from typing import ClassVar, Final

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.coordinates import MOST_COORDINATE, sizes_of
from client_sdk.protocol.domain.error import DomainError

UNIT: Final = 2**20
"""The integer that stands for the norm.

Turned vectors of 4,096 coordinates stay within 2**38, exact in doubles.
"""

MAX_LENGTH: Final = 4095
"""The most coordinates. With the one that is added they fill a rotation of 4,096."""

LEAST_NORM, GREATEST_NORM = Fraction(1, MOST_COORDINATE), Fraction(MOST_COORDINATE)
"""The ends of the norms that are allowed."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of a fixed length, in the Euclidean ball of a norm.

    Attributes:
        length: d, the number of coordinates, from 1 to `MAX_LENGTH`.
        norm: the radius of the ball, exact. A longer vector is shortened to it.

    """

    kind: ClassVar[str] = "vector"

    length: int
    norm: Fraction

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a list of {self.length} finite numbers up to {MOST_COORDINATE:,} in size"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition; the norm as a text such as ``1/3``."""
        return {"length": self.length, "norm": str(self.norm)}

    @property
    def size(self) -> int | None:
        """The number of answers with a share; None because there are infinitely many."""
        return None

    @property
    def labels(self) -> Sequence[int]:
        """The answer of each input symbol; empty because inputs are vectors."""
        return ()

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 as every domain
        """Return a vector of ``inputs`` integers and of norm `UNIT`, up to rounding.

        Raises:
            DomainError: if the answer is no list of as many finite numbers of moderate size.

        """
        if not isinstance(answer, Sized) or len(answer) != self.length:
            raise DomainError
        norm = float(self.norm)
        return lifted(clipped([round(size / norm * UNIT) for size in sizes_of(answer)]), inputs)

    def draw(self, inputs: int, coins: Coins) -> tuple[int, ...]:
        """Return a signed axis of length `UNIT`, drawn uniformly, in place of an invalid answer.

        Its mean is 0, as that of a direction drawn from the whole sphere.
        """
        place, sign = divmod(coins.below(2 * inputs), 2)
        return (*[0] * place, -UNIT if sign else UNIT, *[0] * (inputs - place - 1))


def clipped(coordinates: list[int]) -> list[int]:
    """Return a vector no longer than `UNIT`: itself, or shortened and rounded towards 0."""
    square = sum(map(mul, coordinates, coordinates))
    if square <= UNIT**2:
        return coordinates
    length = isqrt(square - 1) + 1
    return [abs(value) * UNIT // length * (-1 if value < 0 else 1) for value in coordinates]


def lifted(coordinates: Sequence[int], dimension: int) -> tuple[int, ...]:
    """Return a vector of norm `UNIT`, up to rounding: coordinates, what the norm lacks, and zeros.

    Raises:
        ValueError: if the coordinates are too many, or their norm is above `UNIT`.

    """
    missing = UNIT**2 - sum(map(mul, coordinates, coordinates))
    if missing < 0 or len(coordinates) >= dimension:
        raise ValueError("the vector is longer than its norm or its dimension allows; clip it first")
    return (*coordinates, isqrt(missing), *[0] * (dimension - len(coordinates) - 1))
