"""The kind ``boolean``: the answer is true or false."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.encoding import Labels
from client_sdk.protocol.kinds.kind import AskedMetric
from client_sdk.protocol.sentences import Sentences

TRUTH_VALUES: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "yes", "1"), True),
    **dict.fromkeys(("false", "no", "0"), False),
}
"""Maps each lower-case spelling in a table cell to a truth value."""


@dataclass(frozen=True, slots=True)
class Boolean(Labels):
    """A yes-or-no metric: input 0 of the channel is false, and input 1 is true."""

    name: ClassVar[str] = "boolean"
    shapes: ClassVar[tuple[str, ...]] = ("yes-or-no",)
    labels: ClassVar[tuple[bool, ...]] = (False, True)
    expected: ClassVar[str] = "True or False"
    expected_in_cell: ClassVar[str] = "true or false, yes or no, 1 or 0"
    python_type: ClassVar[str] = "bool"
    typescript_type: ClassVar[str] = "boolean"

    @property
    def definition(self) -> dict[str, object]:
        """An empty mapping, because all metrics of this kind have the same possible answers."""
        return {}

    def symbol(self, answer: object) -> int:
        """Return 1 for True and 0 for False."""
        if not isinstance(answer, bool):
            raise DomainError
        return int(answer)

    def parse(self, cell: str) -> object:
        """Return the truth value in a table cell."""
        stated = cell.strip().lower()
        if stated not in TRUTH_VALUES:
            raise DomainError
        return TRUTH_VALUES[stated]

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield a sentence for users about the possible answers."""
        yield say("statement.boolean")
