"""Two questions answered together: a pair of answers is one category."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.symbols import Symbols

Crossed = Boolean | Category

MAX_CELLS = 256
"""The most pairs. With more, a cell of a million devices says nothing, and the covariance takes
seconds."""


@dataclass(frozen=True, slots=True)
class Cross(Symbols):
    """Answers to two questions: input i * (size of the second) + j is the pair of inputs i and j.

    Attributes:
        first: the domain of the question that defines the groups.
        second: the domain of the question that is compared between groups.
        names: the names of the two questions, for people; not part of the edition.

    """

    kind: ClassVar[str] = "cross"

    first: Crossed
    second: Crossed
    names: tuple[str, str] = ("first", "second")

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self.first.size * self.second.size

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return f"a pair: {self.first.expected}; and {self.second.expected}"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return {"cross": [{"kind": part.kind, **part.definition} for part in (self.first, self.second)]}

    @property
    def labels(self) -> tuple[tuple[bool | str, bool | str], ...]:
        """The pair of answers that each input symbol stands for."""
        return tuple(product(self.first.labels, self.second.labels))

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of a pair of answers.

        Raises:
            DomainError: if the answer is no tuple or list of two, or a part is outside its domain.

        """
        if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004 a pair
            raise DomainError
        group, outcome = (
            domain.encode(part, inputs, coins) for domain, part in zip((self.first, self.second), answer, strict=True)
        )
        return group * self.second.size + outcome
