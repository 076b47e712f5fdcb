"""One of a few named values, without an order or with one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.domain.error import DomainError

MAX_CATEGORIES = 10**6
"""A tally of a million counters is 8 MB: the most that a store should hold for one question."""


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
        return f"one of {shown(self.values)}"

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
class Ordinal(Category):
    """One step of a scale: the values rise in the registry's order, so that the mean of positions has a meaning."""

    kind: ClassVar[str] = "ordinal"


def shown(values: tuple[str, ...]) -> str:
    """Return the first values for people, on a line."""
    first = ", ".join(repr(value) for value in values[:6])
    return first + (f", … ({len(values)} values)" if len(values) > 6 else "")  # noqa: PLR2004 a line's worth
