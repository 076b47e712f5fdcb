"""A scale of which only the mean answer is estimated: its steps are numbers that have names."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.category import Ordinal
from client_sdk.protocol.domain.number import Number


@dataclass(frozen=True, slots=True)
class OrdinalMean(Number):
    """One step of a scale: the first value is worth 1, the next one 2, and so on.

    Attributes:
        scale: the values, which rise in order.

    """

    kind: ClassVar[str] = Ordinal.kind

    scale: Ordinal = field(kw_only=True)

    @classmethod
    def of(cls, scale: Ordinal) -> Self:
        """Return the question for the mean answer on a scale."""
        return cls(Fraction(1), Fraction(scale.size), "mean", scale=scale)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return self.scale.expected

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return self.scale.definition | {"statistic": self.statistic}

    def worth(self, answer: str) -> int:
        """Return what one of the values is worth in the mean: its place on the scale, from 1."""
        return self.scale.values.index(answer) + 1

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return one of the two points of an even grid that enclose the answer's place.

        Raises:
            DomainError: if it is none of the values.

        """
        place = self.scale.encode(answer, inputs, coins) + 1
        return super(OrdinalMean, self).encode(place, inputs, coins)
