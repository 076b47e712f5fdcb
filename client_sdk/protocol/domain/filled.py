"""A question that is reported in every window, answered or not, so that silence says nothing."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.cross import Cross
from client_sdk.protocol.domain.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Filled(Symbols):
    """The answers of another domain, and no answer as the last input.

    Attributes:
        answered: the domain of the answers.

    """

    answered: Boolean | Category | Cross

    @property
    def kind(self) -> str:
        """The kind of the answers."""
        return self.answered.kind

    @property
    def size(self) -> int:
        """The number of answers, plus one for no answer."""
        return self.answered.size + 1

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        return self.answered.expected

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
        return {**self.answered.definition, "fill_in": True}

    @property
    def labels(self) -> tuple[bool | str | tuple[bool | str, bool | str] | None, ...]:
        """The answer that each input symbol stands for; the last one is None, for no answer."""
        return (*self.answered.labels, None)

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of an answer, or of None for no answer.

        Raises:
            DomainError: if it is neither None nor an answer.

        """
        return inputs - 1 if answer is None else self.answered.encode(answer, inputs, coins)
