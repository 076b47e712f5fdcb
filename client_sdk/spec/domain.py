"""What an answer may be, and which input symbol of the channel stands for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from client_sdk.spec.channel import COIN_SCALE, Coins

MAX_CATEGORIES = 10**6
"""A tally of a million counters is 8 MB: the most that a store should hold for one question."""

MAX_ANSWER_EXPONENT = 400
"""Of ten: every float is within; a Decimal far beyond would fill the memory as an exact fraction."""


class DomainError(ValueError):
    """An answer outside a domain; it carries neither the answer nor the metric."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """Yes or no: input 0 is false, input 1 is true."""

    kind: ClassVar[str] = "boolean"
    size: ClassVar[int] = 2
    expected: ClassVar[str] = "True or False"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition."""
        return {}

    @property
    def labels(self) -> tuple[bool | str, ...]:
        """The answer that each input symbol stands for."""
        return (False, True)

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:  # noqa: ARG002 a domain's common signature
        """Return the input symbol of an answer.

        Raises:
            DomainError: if it is not a ``bool``.

        """
        if not isinstance(answer, bool):
            raise DomainError
        return int(answer)


@dataclass(frozen=True, slots=True)
class Category:
    """One of a few named values: input i is ``values[i]``.

    Attributes:
        values: at least two different texts, in the registry's order.

    """

    kind: ClassVar[str] = "category"

    values: tuple[str, ...]
    _symbols: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the values, so that looking one up takes the same time for all."""
        object.__setattr__(self, "_symbols", {value: symbol for symbol, value in enumerate(self.values)})

    @property
    def size(self) -> int:
        """How many values there are: k."""
        return len(self.values)

    @property
    def expected(self) -> str:
        """What an answer may be, in words."""
        shown = ", ".join(repr(value) for value in self.values[:6])
        return f"one of {shown}" + (f", … ({self.size} values)" if self.size > 6 else "")  # noqa: PLR2004 a line's worth

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition."""
        return {"values": list(self.values)}

    @property
    def labels(self) -> tuple[bool | str, ...]:
        """The answer that each input symbol stands for."""
        return self.values

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:  # noqa: ARG002 a domain's common signature
        """Return the input symbol of an answer.

        Raises:
            DomainError: if it is none of the values.

        """
        symbol = self._symbols.get(answer) if isinstance(answer, str) else None
        if symbol is None:
            raise DomainError
        return symbol


@dataclass(frozen=True, slots=True)
class Number:
    """A number from ``low`` to ``high``, of which a statistic is wanted.

    Attributes:
        low: the least answer, exact.
        high: the greatest answer, exact, above ``low``.
        statistic: ``mean`` or ``distribution``.

    """

    kind: ClassVar[str] = "number"
    size: ClassVar[int] = 2

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
    def labels(self) -> tuple[bool | str, ...]:
        """A number's inputs are points of a grid and have no names."""
        return ()

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


def _exact(answer: object) -> Fraction:
    if isinstance(answer, bool) or not isinstance(answer, int | float | Decimal | Fraction):
        raise DomainError
    if isinstance(answer, float):
        answer = Decimal(float.__repr__(answer))  # as it is written: 0.1 lies within a definition's high = 0.1
    if isinstance(answer, Decimal) and not (answer.is_finite() and abs(answer.adjusted()) <= MAX_ANSWER_EXPONENT):
        raise DomainError
    return Fraction(answer)


Domain = Boolean | Category | Number
