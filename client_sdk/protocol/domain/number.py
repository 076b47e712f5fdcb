"""A bounded number: any number of a range, or a whole number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import ClassVar

from client_sdk.protocol.coins import COIN_SCALE, Coins
from client_sdk.protocol.domain.error import DomainError

MAX_ANSWER_EXPONENT = 400
"""The largest power of ten. Every float is within; a far larger Decimal would fill the memory as an
exact fraction."""

MAX_COUNT = 10**15
"""Every count up to it is exact as a float, and estimates are printed as floats."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number from ``low`` to ``high``, of which a statistic is estimated.

    Attributes:
        low: the least answer, exact.
        high: the greatest answer, exact, above ``low``.
        statistic: ``mean``, ``distribution`` or ``quantiles``.

    """

    kind: ClassVar[str] = "number"

    low: Fraction
    high: Fraction
    statistic: str

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a finite number from {float(self.low):g} to {float(self.high):g}"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition; rationals as texts such as ``1/3``."""
        return {"low": str(self.low), "high": str(self.high), "statistic": self.statistic}

    @property
    def size(self) -> int | None:
        """The number of answers with a share; None because there are infinitely many."""
        return None

    @property
    def labels(self) -> Sequence[int]:
        """The answer of each input symbol; empty because symbols are points of a grid."""
        return ()

    def points(self, most: int) -> int:
        """Return the number of points of a channel's grid that may have up to ``most``."""
        return most

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return one of the two points of an even grid that enclose the answer.

        The grid has ``inputs`` points. The nearer point is likelier, so that the expected point is
        the answer itself, unbiased to one part in 2**64. Every answer takes one coin.

        Raises:
            DomainError: if the answer is no finite number from ``low`` to ``high``.

        """
        position = (exact(answer) - self.low) / (self.high - self.low) * (inputs - 1)
        if not 0 <= position <= inputs - 1:
            raise DomainError
        point = min(int(position), inputs - 2)
        return point + coins.bernoulli(int((position - point) * COIN_SCALE))


@dataclass(frozen=True, slots=True)
class Count(Number):
    """A whole number from 0 to ``high``, which is ``max`` in the registry."""

    kind: ClassVar[str] = "count"

    @classmethod
    def up_to(cls, most: int, statistic: str) -> Count:
        """Return the counts from 0 to ``most``, at least 1."""
        return cls(Fraction(0), Fraction(most), statistic)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a whole number from 0 to {self.high}"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return {"max": int(self.high), "statistic": self.statistic}

    @property
    def size(self) -> int | None:
        """The number of counts if each has a share; None if only the mean is estimated."""
        return None if self.statistic == "mean" else int(self.high) + 1

    @property
    def labels(self) -> Sequence[int]:
        """The count that each input symbol stands for; empty if only the mean is estimated."""
        return range(self.size or 0)

    def points(self, most: int) -> int:
        """Return the number of points of a channel's grid that may have up to ``most``.

        There are no more points than counts with a share. A mean does better on a finer grid, on
        which a channel's band can have its best width.
        """
        return most if self.size is None else min(most, self.size)

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of a count, or one of the two grid points that enclose it.

        Raises:
            DomainError: if the answer is no whole number from 0 to ``high``, such as an ``int``.

        """
        if not isinstance(answer, Integral):
            raise DomainError
        return super(Count, self).encode(answer, inputs, coins)


def exact(answer: object) -> Fraction:
    """Return a number as a fraction; other libraries' numbers count if they register as numbers."""
    if isinstance(answer, bool):
        raise DomainError
    if isinstance(answer, Integral):
        return Fraction(int(answer))
    if isinstance(answer, Real) and not isinstance(answer, Rational):
        answer = Decimal(float.__repr__(_as_float(answer)))  # by its digits: 0.1 is within high = 0.1
    if isinstance(answer, Decimal) and answer.is_finite() and abs(answer.adjusted()) <= MAX_ANSWER_EXPONENT:
        return Fraction(answer)
    if isinstance(answer, Rational):
        return Fraction(int(answer.numerator), int(answer.denominator))
    raise DomainError


def _as_float(answer: Real) -> float:
    """Return a real number as a float: exactly, if it has less precision, like `numpy.float32`."""
    try:
        return float(answer)
    except (ArithmeticError, TypeError, ValueError):
        raise DomainError from None
