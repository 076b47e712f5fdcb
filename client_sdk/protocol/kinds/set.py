"""The kind ``set``: the answer is a set of named values.

A set is padded to ``max_items`` elements with *dummies*, which represent no value. The channel
draws one element and perturbs it (`drawn_member`). Some mechanisms cannot report dummies. For these
mechanisms, the input has a 1 for each member and a 0 for each other value. The channel then draws
one value, and perturbs the 1 or 0 of this value (`one_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.key import OTHER, VALUES, Key, whole
from client_sdk.protocol.kinds.kind import (
    MAX_CATEGORIES,
    MEMBERS_APART,
    NO_COINS,
    AskedMetric,
    Kind,
    Label,
    Law,
    NamedAnswer,
    refused,
)
from client_sdk.protocol.kinds.words import either, listed, preview, said
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel, Coins

MAX_ITEMS: Final = Key(
    "max_items",
    whole(MAX_CATEGORIES),
    "the maximum number of members of a set; for a text, the maximum number of texts in one answer (default: 1)",
)


def _read_most(table: TomlTable, key: Key, before: Mapping[str, Any]) -> int | None:
    return table.whole(key.name, MAX_CATEGORIES if before["values"] is None else len(before["values"]))


@dataclass(frozen=True, slots=True)
class Subset(Kind):
    """Any subset of the named values that has at most ``max_items`` members.

    Attributes:
        values: at least two different strings, in the registry's order.
        max_items: the maximum number of members, from 1 to the number of values.
        other: the value that replaces unlisted members; None if unlisted members are invalid.
    """

    name: ClassVar[str] = "set"
    keys: ClassVar[tuple[Key, ...]] = (
        VALUES._replace(narrower=VALUES.schema | {"maxItems": MAX_CATEGORIES - 1}),
        OTHER,
        MAX_ITEMS._replace(read=_read_most),
    )
    refused: ClassVar[Mapping[str, str]] = refused(
        permanent_epsilon="does not apply to a set, because each report may reveal another member",
        fill_in="does not apply to a set; record an answer in every window instead",
    )
    is_named: ClassVar[bool] = False
    shapes: ClassVar[tuple[str, ...]] = ("labels", "members")

    values: tuple[str, ...]
    max_items: int
    other: str | None = field(default=None, kw_only=True)
    _members: Category = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_members", Category(self.values, other=self.other))

    @property
    def drawn(self) -> int:  # type: ignore[override] # a constant in other kinds
        """The number of members and dummies in a padded set."""
        return self.max_items

    @property
    def size(self) -> int:
        """The number of values, plus 1 for a dummy. The number of inputs may differ."""
        return len(self.values) + 1

    @property
    def labels(self) -> tuple[Label, ...]:
        """The value for each input. The last inputs are dummies and have no value."""
        return self.values

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        members = f"a set, list or tuple with at most {self.max_items} of {preview(self.values)}, each only once"
        return members if self.other is None else f"{members}; unlisted strings count as one member, {self.other!r}"

    @property
    def expected_in_cell(self) -> str:
        """The format of a set in a table cell."""
        members = f"at most {self.max_items} different members separated by {MEMBERS_APART!r}"
        return f"{members}, or {MEMBERS_APART!r} alone if there are none; a member is {self._members.expected}"

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return {**self._members.definition, "max_items": self.max_items}

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 used by kinds of other shapes
        """Return the padded set: members in the registry's order, followed by dummies.

        Inputs of at least ``len(values)`` are dummies. If the channel has enough dummies, all
        dummies in a set are different. If the channel has no dummies, the result has 1 for each
        member and 0 for each other value.
        """
        members = self.members(answer)
        if inputs == len(self.values):
            return _yes_to(members, inputs)
        places = range(len(members), self.max_items)
        return (*members, *(min(len(self.values) + place, inputs - 1) for place in places))

    def law(self, answer: object, inputs: int) -> Law:
        """Map the only possible encoding of an answer to its probability, which is 1."""
        return {self.encode(answer, inputs, NO_COINS): Fraction(1)}

    def draw(self, inputs: int, coins: Coins) -> tuple[int, ...]:
        """Return consecutive inputs that begin at a random input, to replace an invalid answer."""
        first = coins.below(inputs)
        drawn = [(first + step) % inputs for step in range(self.max_items)]
        return tuple(drawn) if inputs > len(self.values) else _yes_to(drawn, inputs)

    def members(self, answer: object) -> list[int]:
        """Return the inputs that represent the members of an answer, in ascending order.

        Several unlisted strings count as one member, `other`. Therefore they cannot make a set
        too large.

        Raises:
            DomainError: if the answer is not a set, list or tuple, has more than ``max_items``
                members, contains a string twice, or contains an unlisted string and `other` is
                None.
        """
        if not isinstance(answer, AbstractSet | list | tuple):
            raise DomainError
        members = sorted({self._members.symbol(value) for value in answer})
        if len(members) > self.max_items or len(set(answer)) < len(answer):
            raise DomainError
        return members

    def parse(self, cell: str) -> object:
        """Return the members in a table cell. Spaces around a member are removed."""
        return [member.strip() for member in cell.split(MEMBERS_APART) if member.strip()]

    def truth(self, answer: object) -> object:
        """Return the members as a tuple, in the registry's order."""
        return tuple(self.values[member] for member in self.members(answer))

    def samples(self) -> Iterable[object]:
        """Return the empty set, and every set that has a single member."""
        return [(), *((member,) for member in self.values)]

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 used by kinds of numbers
        """Return the empty set, a set of the first values, and a set of the last values."""
        sets = dict.fromkeys(((), self.values[: self.max_items], self.values[-self.max_items :]))
        return tuple(NamedAnswer(members, "{" + ", ".join(members) + "}") for members in sets)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield sentences for users about the values and `other`."""
        if asked.inputs == len(self.values):
            yield say("statement.set_asked", answers=listed(self.values, say))
        else:
            yield say("statement.set", most=self.max_items, answers=listed(self.values, say))
        yield from self._members.said_of_others(say)

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:
        """Describe a symbol in words.

        The description names likely members of the set or, for some mechanisms, says whether a
        single value is likely a member.
        """
        if channel.inputs == len(self.values):
            value, is_member = divmod(symbol, 2)
            answer = say("reported.true" if is_member else "reported.false")
            return say("reported.feature", feature=said(labels[value], say), answers=answer)
        inputs = channel.likeliest(symbol)
        named = (said(labels[each], say) if each < len(labels) else say("reported.padding") for each in inputs)
        return either(named, say)

    @property
    def python_type(self) -> str:
        """The type of an answer: a set, list or tuple of values."""
        member = self._members.python_type
        return f"AbstractSet[{member}] | list[{member}] | tuple[{member}, ...]"

    @property
    def typescript_type(self) -> str:
        """The type of an answer: a set or list of values."""
        member = self._members.typescript_type
        return f"ReadonlySet<{member}> | readonly ({member})[]"


def _yes_to(members: Sequence[int], values: int) -> tuple[int, ...]:
    """Return one integer for each value: 1 if the value is a member, otherwise 0."""
    given = frozenset(members)
    return tuple(int(value in given) for value in range(values))
