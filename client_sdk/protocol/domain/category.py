"""One of several named values, with or without an order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.symbols import Symbols

MAX_CATEGORIES = 10**6
"""The most values. A tally of a million counters is 8 MB: the most that a store should hold for one
question."""


@dataclass(frozen=True, slots=True)
class Category(Symbols):
    """One of several named values: input i is ``values[i]``.

    Attributes:
        values: at least two different texts, in the registry's order.
        other: the value for every text that is not listed; None if such a text is no answer.

    """

    kind: ClassVar[str] = "category"

    values: tuple[str, ...]
    other: str | None = field(default=None, kw_only=True)
    _symbols: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the values, so that every lookup takes the same time."""
        object.__setattr__(self, "_symbols", {value: symbol for symbol, value in enumerate(self.values)})

    @property
    def size(self) -> int:
        """The number of values, k."""
        return len(self.values)

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"one of {preview(self.values)}" if self.other is None else "a text"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain.

        Reports of ``other`` mean more if it takes what is new.
        """
        return {"values": list(self.values)} | ({} if self.other is None else {"other": self.other})

    @property
    def labels(self) -> tuple[bool | str, ...]:
        """The answer that each input symbol stands for."""
        return self.values

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:  # noqa: ARG002 a domain's common signature
        """Return the input symbol of an answer.

        Raises:
            DomainError: if it is no text, or a text that is not listed and `other` is None.

        """
        symbol = self._symbols.get(answer, self._symbols.get(self.other or "")) if isinstance(answer, str) else None
        if symbol is None:
            raise DomainError
        return symbol


@dataclass(frozen=True, slots=True)
class Ordinal(Category):
    """One step of a scale; the values rise in order, so that a mean has a meaning."""

    kind: ClassVar[str] = "ordinal"


def preview(values: tuple[str, ...]) -> str:
    """Return the first few values on one line, for a message."""
    first = ", ".join(repr(value) for value in values[:6])
    return first + (f", … ({len(values)} values)" if len(values) > 6 else "")  # noqa: PLR2004 a line's worth
