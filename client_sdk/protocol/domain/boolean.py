"""Yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Boolean(Symbols):
    """Yes or no: input 0 is false, input 1 is true."""

    kind: ClassVar[str] = "boolean"
    size: ClassVar[int] = 2
    expected: ClassVar[str] = "True or False"

    @property
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes the domain."""
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
