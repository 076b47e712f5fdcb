"""The kind ``category``: the answer is one of several named values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.encoding import Labels
from client_sdk.protocol.kinds.key import OTHER, VALUES, Key
from client_sdk.protocol.kinds.kind import AskedMetric, Label, literals, refused
from client_sdk.protocol.kinds.words import escaped, listed, preview
from client_sdk.protocol.sentences import Sentences


@dataclass(frozen=True, slots=True)
class Category(Labels):
    """A metric with named values: input i of the channel is ``values[i]``.

    Attributes:
        values: at least two different strings, in the registry's order.
        other: the value that replaces unlisted answers; None if unlisted answers are invalid.
    """

    name: ClassVar[str] = "category"
    keys: ClassVar[tuple[Key, ...]] = (VALUES, OTHER)
    refused: ClassVar[Mapping[str, str]] = refused("utility")

    values: tuple[str, ...]
    other: str | None = field(default=None, kw_only=True)
    _symbols: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the values, so that every lookup takes the same time."""
        object.__setattr__(self, "_symbols", {value: symbol for symbol, value in enumerate(self.values)})

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values, in the order of the channel's inputs."""
        return self.values

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        return f"one of {preview(self.values)}" if self.other is None else "a string"

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers and `other`, in the form that `Metric.edition` hashes."""
        return {"values": list(self.values)} | ({} if self.other is None else {"other": self.other})

    def symbol(self, answer: object) -> int:
        """Return the channel's input for a value."""
        symbol = self._symbols.get(answer, self._symbols.get(self.other or "")) if isinstance(answer, str) else None
        if symbol is None:
            raise DomainError
        return symbol

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield sentences for users about the values and `other`."""
        yield say("statement.value", answers=listed(self.values, say))
        yield from self.said_of_others(say)

    def said_of_others(self, say: Sentences) -> Iterator[str]:
        """Yield a sentence for users about `other`, unless `other` is None."""
        if self.other is not None:
            yield say("statement.other_answer", other=escaped(self.other))

    @property
    def python_type(self) -> str:
        """A ``Literal`` of the values, or ``str`` if `other` is set or there are many values."""
        return literals(self.values, "Literal[{}]", ", ") if self.other is None else "str"

    @property
    def typescript_type(self) -> str:
        """A union of the values, or ``string`` if `other` is set or there are many values."""
        return literals(self.values, "{}", " | ", "string") if self.other is None else "string"
