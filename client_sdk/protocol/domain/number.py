"""A bounded number: any number of a range, or a whole number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import ClassVar, Final

from client_sdk.protocol.coins import COIN_SCALE, Coins
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.symbols import Symbols

MAX_ANSWER_EXPONENT = 400
"""The largest power of ten. Every float is within; a far larger Decimal would fill the memory as an
exact fraction."""

BEYOND: Final = Fraction(10 ** (MAX_ANSWER_EXPONENT + 1))
"""Stands for infinity, and for a Decimal of a larger power: no range reaches it."""

MAX_COUNT = 10**15
"""Every count up to it is exact as a float, and estimates are printed as floats."""


@dataclass(frozen=True, slots=True)
class Number(Symbols):
    """A number from ``low`` to ``high``, of which a statistic is estimated.

    Attributes:
        low: the least answer, exact.
        high: the greatest answer, exact, above ``low``.
        statistic: ``mean``, ``distribution`` or ``quantiles``.
        clip: whether a number beyond an end of the range counts as that end, and the statistic is
            that of clipped numbers. Otherwise such a number is invalid.

    """

    kind: ClassVar[str] = "number"

    low: Fraction
    high: Fraction
    statistic: str
    clip: bool = field(default=True, kw_only=True)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a finite number from {float(self.low):g} to {float(self.high):g}"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition; rationals as texts such as ``1/3``."""
        return {"low": str(self.low), "high": str(self.high), "statistic": self.statistic} | self.unclipped

    @property
    def unclipped(self) -> dict[str, object]:
        """What the definition adds if numbers are not clipped, because a report then means more."""
        return {} if self.clip else {"clip": False}

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
            DomainError: as `within` does.

        """
        position = self.position(answer) * (inputs - 1)
        point = min(int(position), inputs - 2)
        return point + coins.bernoulli(int((position - point) * COIN_SCALE))

    def position(self, answer: object) -> Fraction:
        """Return where in the range an answer lies, from 0 to 1.

        Raises:
            DomainError: as `within` does.

        """
        return (self.within(answer) - self.low) / (self.high - self.low)

    def within(self, answer: object) -> Fraction:
        """Return an answer as a number of the range, clipped if `clip` says so.

        Raises:
            DomainError: if it is no number, or is outside the range and not clipped.

        """
        given = exact(answer)
        clipped = min(max(given, self.low), self.high)
        if clipped != given and not self.clip:
            raise DomainError
        return clipped


@dataclass(frozen=True, slots=True)
class Count(Number):
    """A whole number from 0 to ``high``, which is ``max`` in the registry."""

    kind: ClassVar[str] = "count"

    @classmethod
    def up_to(cls, most: int, statistic: str, *, clip: bool = True) -> Count:
        """Return the counts from 0 to ``most``, at least 1."""
        return cls(Fraction(0), Fraction(most), statistic, clip=clip)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a whole number from 0 to {self.high}"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return {"max": int(self.high), "statistic": self.statistic} | self.unclipped

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

    def within(self, answer: object) -> Fraction:
        """Return an answer as a whole number of the range, clipped if `clip` says so.

        Raises:
            DomainError: if it is neither an integer, such as an ``int``, nor infinite, or is
                outside the range and not clipped.

        """
        if not isinstance(answer, Integral) and abs(exact(answer)) < BEYOND:
            raise DomainError
        return super(Count, self).within(answer)


def exact(answer: object) -> Fraction:
    """Return a number as a fraction; other libraries' numbers count if they register as numbers.

    Raises:
        DomainError: if it is no number, as a truth value and NaN are none.

    """
    if isinstance(answer, bool):
        raise DomainError
    if isinstance(answer, Integral):
        return Fraction(int(answer))
    if isinstance(answer, Real) and not isinstance(answer, Rational):
        answer = Decimal(float.__repr__(_as_float(answer)))  # by its digits: 0.1 is within high = 0.1
    if isinstance(answer, Decimal):
        return _of_decimal(answer)
    if isinstance(answer, Rational):
        return Fraction(int(answer.numerator), int(answer.denominator))
    raise DomainError


def _of_decimal(answer: Decimal) -> Fraction:
    """Return a Decimal as a fraction: what is too near 0 as 0, what is too large as `BEYOND`."""
    if answer.is_nan():
        raise DomainError
    if not answer or (answer.is_finite() and answer.adjusted() < -MAX_ANSWER_EXPONENT):
        return Fraction(0)
    if answer.is_infinite() or answer.adjusted() > MAX_ANSWER_EXPONENT:
        return -BEYOND if answer < 0 else BEYOND
    return Fraction(answer)


def _as_float(answer: Real) -> float:
    """Return a real number as a float: exactly, if it has less precision, like `numpy.float32`."""
    try:
        return float(answer)
    except (ArithmeticError, TypeError, ValueError):
        raise DomainError from None
