"""A bounded number, of any size or a whole one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from client_sdk.protocol.channel import COIN_SCALE, Coins
from client_sdk.protocol.domain.error import DomainError

MAX_ANSWER_EXPONENT = 400
"""Of ten: every float is within; a Decimal far beyond would fill the memory as an exact fraction."""

MAX_COUNT = 10**15
"""Every count up to it is exact as a float, in which estimates are printed."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number from ``low`` to ``high``, of which a statistic is wanted.

    Attributes:
        low: the least answer, exact.
        high: the greatest answer, exact, above ``low``.
        statistic: ``mean`` or ``distribution``.

    """

    kind: ClassVar[str] = "number"

    low: Fraction
    high: Fraction
    statistic: str

    @property
    def expected(self) -> str:
        """What an answer may be, in words."""
        return f"a finite number from {float(self.low):g} to {float(self.high):g}"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition; rationals as texts such as ``1/3``."""
        return {"low": str(self.low), "high": str(self.high), "statistic": self.statistic}

    @property
    def size(self) -> int | None:
        """How many answers could have a share of their own: not finitely many."""
        return None

    @property
    def labels(self) -> Sequence[int]:
        """The answer that each input symbol stands for, where every one stands for an answer."""
        return ()

    def points(self, most: int) -> int:
        """Return how many points the grid of a channel has that could have ``most``."""
        return most

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return one of the two points of an even grid of ``inputs`` points that enclose the answer.

        The nearer point is the likelier, so that the expected point is the answer itself: unbiased to one part in
        2**64. One coin is tossed for every answer.

        Raises:
            DomainError: if it is no finite number from ``low`` to ``high``.

        """
        position = (_exact(answer) - self.low) / (self.high - self.low) * (inputs - 1)
        if not 0 <= position <= inputs - 1:
            raise DomainError
        point = min(int(position), inputs - 2)
        return point + coins.bernoulli(int((position - point) * COIN_SCALE))


@dataclass(frozen=True, slots=True)
class Count(Number):
    """A whole number from 0 to ``high``, its ``max`` in the registry."""

    kind: ClassVar[str] = "count"

    @classmethod
    def up_to(cls, most: int, statistic: str) -> Count:
        """Return the counts from 0 to ``most``, at least 1."""
        return cls(Fraction(0), Fraction(most), statistic)

    @property
    def expected(self) -> str:
        """What an answer may be, in words."""
        return f"a whole number from 0 to {self.high}"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition."""
        return {"max": int(self.high), "statistic": self.statistic}

    @property
    def size(self) -> int | None:
        """How many counts there are, where shares of them are wanted."""
        return int(self.high) + 1 if self.statistic == "distribution" else None

    @property
    def labels(self) -> Sequence[int]:
        """The count that each input symbol stands for, where every one stands for a count."""
        return range(self.size or 0)

    def points(self, most: int) -> int:
        """Return how many points the grid of a channel has that could have ``most``: no more than there are counts.

        A mean is better served by a finer grid, on which the band of a channel has the width that it should have.
        """
        return most if self.size is None else min(most, self.size)

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of a count, or one of the two points of a grid of ``inputs`` that enclose it.

        Raises:
            DomainError: if it is no ``int`` from 0 to ``high``.

        """
        if not isinstance(answer, int):
            raise DomainError
        return super(Count, self).encode(answer, inputs, coins)


def _exact(answer: object) -> Fraction:
    if isinstance(answer, bool) or not isinstance(answer, int | float | Decimal | Fraction):
        raise DomainError
    if isinstance(answer, float):
        answer = Decimal(float.__repr__(answer))  # as it is written: 0.1 lies within a definition's high = 0.1
    if isinstance(answer, Decimal) and not (answer.is_finite() and abs(answer.adjusted()) <= MAX_ANSWER_EXPONENT):
        raise DomainError
    return Fraction(answer)
