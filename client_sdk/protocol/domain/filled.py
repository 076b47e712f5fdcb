"""A question that is reported in every window, answered or not, so that silence says nothing."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.cross import Cross


@dataclass(frozen=True, slots=True)
class Filled:
    """The answers of another domain, and none: the last input.

    Attributes:
        answered: the domain of the answers.

    """

    answered: Boolean | Category | Cross

    @property
    def kind(self) -> str:
        """That of the answers."""
        return self.answered.kind

    @property
    def size(self) -> int:
        """The answers, and none."""
        return self.answered.size + 1

    @property
    def expected(self) -> str:
        """What an answer may be, in words."""
        return self.answered.expected

    @property
    def definition(self) -> dict[str, object]:
        """What of the domain is part of the edition."""
        return {**self.answered.definition, "fill_in": True}

    @property
    def labels(self) -> tuple[bool | str | tuple[bool | str, bool | str] | None, ...]:
        """The answer that each input symbol stands for; none is the last."""
        return (*self.answered.labels, None)

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of an answer, or of none.

        Raises:
            DomainError: if it is neither none nor an answer.

        """
        return inputs - 1 if answer is None else self.answered.encode(answer, inputs, coins)
