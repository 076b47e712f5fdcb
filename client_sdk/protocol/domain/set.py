"""A set of named values: one member is sampled, so that a set costs as much as one value.

A set is padded with dummies to ``max_items`` members. One member is drawn and reported through a
channel of k + 1 inputs, the last of which stands for every dummy. For the whole set, the law of the
symbol is a mixture of rows of that channel. The ratio of two mixtures is never above the largest
ratio of two rows, so a report of a set has the channel's epsilon, however the sets differ.

Sources: Qin, Yang, Yu, Khalil, Xiao & Ren 2016, "Heavy hitter estimation over set-valued data with
local differential privacy", section 4; Wang, Li & Jha 2018, "Locally differentially private
frequent itemset mining", section IV.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import ClassVar

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.category import Category, preview
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Subset(Symbols):
    """Any subset of named values that has at most ``max_items`` members.

    Attributes:
        values: at least two different texts, in the registry's order.
        max_items: s, from 1 to the number of values.
        other: the value for every text that is not listed; None if such a text is no member.

    """

    kind: ClassVar[str] = "set"

    values: tuple[str, ...]
    max_items: int
    other: str | None = field(default=None, kw_only=True)
    _members: Category = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the values."""
        object.__setattr__(self, "_members", Category(self.values, other=self.other))

    @property
    def size(self) -> int:
        """The number of inputs, k + 1: the values, and one input for all dummies."""
        return len(self.values) + 1

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        members = f"at most {self.max_items} different ones of {preview(self.values)}"
        if self.other is None:
            return f"a set, list or tuple of {members}"
        return f"a set, list or tuple of different texts: {members}, where any other text counts as {self.other!r}"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return {**self._members.definition, "max_items": self.max_items}

    @property
    def labels(self) -> tuple[str, ...]:
        """The value that each input symbol stands for; the last symbol, the dummy, has none."""
        return self.values

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of one of ``max_items`` places, drawn uniformly.

        Members fill the first places in the registry's order; dummies fill the rest. Every set
        takes one draw.

        Raises:
            DomainError: as `members` does.

        """
        members = self.members(answer, coins)
        place = coins.below(self.max_items)
        return members[place] if place < len(members) else inputs - 1

    def members(self, answer: object, coins: Coins) -> list[int]:
        """Return the input symbols of an answer's members, in rising order.

        Different texts that all count as `other` are one member, so that what is new in the world
        makes no set too large.

        Raises:
            DomainError: if the answer is no set, list or tuple, has more than ``max_items``
                members, a text twice, or one that is not listed while `other` is None.

        """
        if not isinstance(answer, AbstractSet | list | tuple):
            raise DomainError
        members = sorted({self._members.encode(value, self._members.size, coins) for value in answer})
        if len(members) > self.max_items or len(set(answer)) < len(answer):
            raise DomainError
        return members
