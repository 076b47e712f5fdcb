"""Two questions answered together: a pair of answers is one category."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.error import DomainError

Crossed = Boolean | Category

MAX_CELLS = 256
"""Pairs: with more of them a cell of a million devices says nothing, and their covariance takes seconds."""


@dataclass(frozen=True, slots=True)
class Cross:
    """An answer to each of two questions: input i * size of the second + j is the pair of their inputs i and j.

    Attributes:
        first: the domain of the question that makes the groups.
        second: the domain of the question that is compared between groups.
        names: of the two questions, for people; no part of the edition.

    """

    kind: ClassVar[str] = "cross"

    first: Crossed
    second: Crossed
    names: tuple[str, str] = ("first", "second")

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return self.first.size * self.second.size

    @property
    def expected(self) -> str:
        """What an answer may be, in words."""
        return f"a pair: {self.first.expected}; and {self.second.expected}"

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition."""
        return {"cross": [{"kind": one.kind, **one.definition} for one in (self.first, self.second)]}

    @property
    def labels(self) -> tuple[tuple[bool | str, bool | str], ...]:
        """The pair of answers that each input symbol stands for."""
        return tuple(product(self.first.labels, self.second.labels))

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of a pair of answers.

        Raises:
            DomainError: if it is no tuple or list of two, or one of the two is outside its domain.

        """
        if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004 a pair
            raise DomainError
        group, outcome = (
            domain.encode(part, inputs, coins) for domain, part in zip((self.first, self.second), answer, strict=True)
        )
        return group * self.second.size + outcome
