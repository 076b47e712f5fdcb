"""A number asked together with its group: the mean of the number in each group.

The number is rounded at random to one of a few points, without bias, and the pair of group and
point is one category. With strong noise two points, the ends of the range, are best: each more
costs inputs. With weak noise the rounding matters more than the inputs do (see
``docs/research/mean-by-group.md``, which has the measurements behind `POINTS`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.cross import MAX_CELLS, Crossed
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.number import Number
from client_sdk.protocol.domain.symbols import Symbols

POINTS: Final = ((9, 256), (5, 32), (3, 4))
"""Numbers of points, each with the least e**epsilon per group from which it is taken."""

LEAST_POINTS: Final = 2
"""The ends of the range."""


@dataclass(frozen=True, slots=True)
class MeanByGroup(Symbols):
    """A group and a number: input g * points + j is group g and point j of an even grid.

    Attributes:
        first: the domain of the question that defines the groups.
        second: the number whose mean is compared between groups.
        names: the names of the two questions, for people; not part of the edition.
        points: m, to how many points the number is rounded, from 2.

    """

    kind: ClassVar[str] = "mean-by-group"

    first: Crossed
    second: Number
    names: tuple[str, str] = ("first", "second")
    points: int = LEAST_POINTS

    @property
    def size(self) -> int:
        """The number of inputs, groups * points."""
        return self.first.size * self.points

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a pair: {self.first.expected}; and {self.second.expected}"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        parts = [{"kind": part.kind, **part.definition} for part in (self.first, self.second)]
        return {"cross": parts, "points": self.points}

    @property
    def labels(self) -> tuple[tuple[bool | str, str], ...]:
        """The group and the point, as text, that each input symbol stands for."""
        low, step = self.second.low, (self.second.high - self.second.low) / (self.points - 1)
        points = [f"{float(low + step * point):g}" for point in range(self.points)]
        return tuple((group, point) for group in self.first.labels for point in points)

    def rounded_for(self, odds: Fraction) -> MeanByGroup:
        """Return the same question with the points that suit e**epsilon = ``odds``."""
        groups = self.first.size
        fitting = (m for m, least in POINTS if odds >= least * groups and m * groups <= MAX_CELLS)
        return replace(self, points=next(fitting, LEAST_POINTS))

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of a group and a number, which is rounded by one coin.

        Raises:
            DomainError: if the answer is no tuple or list of two, or a part is outside its domain.

        """
        if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004 a pair
            raise DomainError
        group, number = answer
        return self.first.encode(group, inputs, coins) * self.points + self.second.encode(number, self.points, coins)
