"""The interface of every kind of question: keys, an encoding and words for people.

A kind defines the possible answers, and how an answer becomes an input of a channel. It does not
know channels' laws. To add a kind, write one class and enter it in `client_sdk.protocol.kinds`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import DomainError

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel
    from client_sdk.protocol.kinds.key import Key, Schema
    from client_sdk.protocol.requested_epsilon import RequestedEpsilon
    from client_sdk.protocol.sentences import Sentences
    from client_sdk.protocol.toml_table import TomlTable

Label = bool | int | str | tuple[bool | str, bool | str] | None
"""A value that has a share: of a boolean, a count, a category or a cross. None means no answer."""


def word(value: Label) -> str:
    """Return a value of a domain as text.

    Truth values are spelled as in the registry, and a pair has a comma.
    """
    if value is None:
        return "nothing recorded"
    if isinstance(value, tuple):
        return ", ".join(word(part) for part in value)
    return value if isinstance(value, str) else str(value).lower()


Input = Any
"""An input of a channel: a symbol, a vector of integers, or a cell of each of several tables."""

Law = Mapping[Input, Fraction]
"""The exact probability of each input that an answer may become."""

REFUSED: Final[Mapping[str, str]] = {
    "unit": "is only for a number or a count; remove it",
    "utility": "is only for the values of a category or an ordinal; remove it",
    "fill_value": "is only for a count or a mean with fill_in = true; remove it",
    "persist": "is only for a count, which adds up over a window; remove it",
}
"""Keys that most kinds refuse, each with the description of its mistake."""

MOST_LITERALS: Final = 1000
"""The maximum number of values that a type lists. With more, type checkers become slow; then the
type is any text, and `record` refuses a wrong one."""

MAX_CATEGORIES: Final = 10**6
"""The maximum number of answers with a share. A tally of a million counters is 8 MB: the maximum
that a store should keep for one question."""

MEMBERS_APART: Final = "|"
"""Separates the members of a set, the answers of a pair, and a vector's numbers, in one cell."""


class Fill(NamedTuple):
    """The report for a window in which nothing was recorded.

    Attributes:
        answer: an argument of `Metric.perturb`; None means no answer, which is an input of its own.

    """

    answer: object


class AskedMetric(NamedTuple):
    """How a question of a kind is asked.

    Attributes:
        unit: what its numbers count or measure; may be empty.
        window: how often it is asked: ``day``, ``week`` or ``month``.
        inputs: the number of its channel's inputs.

    """

    unit: str
    window: str
    inputs: int


class NamedAnswer(NamedTuple):
    """An answer and its name for people.

    Attributes:
        value: as the SDK records it.
        name: a short name.

    """

    value: object
    name: str


class Kind(ABC):
    """The definition of the possible answers to a question.

    Attributes:
        name: the kind's name in a registry.
        keys: the keys of its table.
        refused: other keys of a question that do not suit the kind, with the mistake of each.
        rule: the rules that its JSON Schema adds to those of the keys.
        call: the method of the SDK that takes its answers: ``record``, ``count`` or ``active``.
        shapes: the mechanisms that its inputs suit: ``labels``, a ``grid``, and others.
        unshared: the mistake of naming a mechanism of labels if its inputs are not labels.
        always_persists: whether its counts are always kept on disk, whatever the registry says.
        drawn: the number of inputs in an answer, one of which is drawn; 0 if it is one input.
        unit: the unit of its numbers if the registry names none.
        statistic: the estimated ``mean``, ``distribution`` or ``quantiles`` of numbers;
            empty for shares.
        statistics: the statistics that a registry may name.
        is_named: whether an input stands for one answer, so that a report can name it.
        approved: the found texts that may be published; empty for other kinds.
        is_ordered: whether its values rise, so that a distance between two is meaningful.
        has_samples: whether answers can be spread evenly over all that may be answered.
        cross_refusal: why the SDK of browsers does not cross it; empty if it does.
        expected: the answers that are allowed, in words.
        expected_in_cell: how a cell of a table states an answer, in words.

    """

    __slots__ = ()

    name: ClassVar[str]
    keys: ClassVar[tuple[Key, ...]] = ()
    refused: ClassVar[Mapping[str, str]] = REFUSED
    rule: ClassVar[Schema] = {}
    call: ClassVar[str] = "record"
    shapes: ClassVar[tuple[str, ...]]
    unshared: ClassVar[str] = ""
    always_persists: ClassVar[bool] = False
    unit: ClassVar[str] = ""
    drawn: int = 0
    statistic: str = ""
    approved: tuple[str, ...] = ()
    statistics: ClassVar[tuple[str, ...]] = ()
    is_named: ClassVar[bool] = True
    is_ordered: ClassVar[bool] = False
    has_samples: ClassVar[bool] = True
    cross_refusal: ClassVar[str] = ""

    @classmethod
    def read(cls, table: TomlTable) -> Kind | None:
        """Return the kind of a table; None if it has mistakes, which are added to the table."""
        before = table.mistake_count
        values: dict[str, Any] = {}
        for key in cls.keys:
            values[key.name] = key.read(table, key, values)
        return None if table.mistake_count > before else cls.from_keys(table, values)

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 of other kinds
        """Return the kind with these values of its keys; the values of omitted keys are None.

        Mistakes in their combination are noted; then None is returned.
        """
        return cls(**values)

    @property
    @abstractmethod
    def definition(self) -> dict[str, object]:
        """The part of the edition that describes what may be answered."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """The answers that are allowed, in words."""

    @property
    def expected_in_cell(self) -> str:
        """How a cell of a table states an answer, in words."""
        return self.expected

    @property
    def size(self) -> int | None:
        """The number of answers with a share; None if no answer has one."""
        return None

    @property
    def labels(self) -> Sequence[Label]:
        """The answer that each input stands for; empty if inputs stand for something else."""
        return ()

    @property
    def most(self) -> int:
        """The largest number to which answers add up; 0 if they do not add up."""
        return 0

    @property
    def parts(self) -> tuple[Kind, ...]:
        """The kinds of the questions that are answered together; for most kinds, only itself."""
        return (self,)

    @property
    def crossed(self) -> tuple[str, ...]:
        """The names of the questions that are answered together; empty for most kinds."""
        return ()

    @abstractmethod
    def encode(self, answer: object, inputs: int, coins: Coins) -> Input:
        """Return the input of an answer, for a channel with a number of inputs.

        Raises:
            DomainError: if it is not an answer; the error does not contain it.

        """

    @abstractmethod
    def law(self, answer: object, inputs: int) -> Law:
        """Return the law of `encode`: each input that the answer may become.

        Raises:
            DomainError: if it is not an answer; the error does not contain it.

        """

    def draw(self, inputs: int, coins: Coins) -> Input:
        """Return an input drawn uniformly, in place of an answer that `encode` refuses."""
        return coins.below(inputs)

    def fitted(self, table: TomlTable, epsilon: RequestedEpsilon, mechanism: str) -> Kind:  # noqa: ARG002 of some
        """Return the kind adapted to an epsilon and a mechanism; note what is impossible."""
        return self

    def fill(self, table: TomlTable, value: Fraction | None) -> Fill | None:  # noqa: ARG002 of numbers
        """Return the report if nothing was recorded; note the reason if there cannot be one."""
        table.mistake("fill_in", f"does not apply to this {self.name}; record an answer in every window instead")
        return None

    @abstractmethod
    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield lines for users that describe the possible answers."""

    def counted(self, say: Sentences, unit: str = "") -> str:  # noqa: ARG002 of numbers
        """Return in words how answers beyond a range count; empty if they are invalid."""
        return ""

    def said_of_others(self, say: Sentences) -> Iterator[str]:  # noqa: ARG002 of some
        """Yield lines for users that say which value replaces answers that are not listed."""
        yield from ()

    @abstractmethod
    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:
        """Return in words what the report of a symbol says: the answers that make it likeliest."""

    @property
    @abstractmethod
    def python_type(self) -> str:
        """The type of an answer in Python."""

    @property
    def typescript_type(self) -> str:
        """The type of an answer in TypeScript; empty if the SDK of browsers lacks the kind."""
        return ""

    @property
    def browser_refusal(self) -> str:
        """Why the SDK of browsers does not take the question; empty if it does."""
        return "" if self.typescript_type else f"the SDK for browsers and Node lacks the kind {self.name}"

    @property
    def compiled(self) -> Mapping[str, object]:
        """The data that the SDK of browsers needs in addition to the definition."""
        return {}

    def parse(self, cell: str) -> object:
        """Return the answer that a cell of a table states; `encode` refuses invalid answers.

        Raises:
            DomainError: if it states no answer.

        """
        return cell

    def columns(self, metric: str) -> Sequence[str]:  # noqa: ARG002 of some
        """Return the columns of a table that together state an answer, if it may be split."""
        return self.crossed

    def parse_columns(self, cells: Sequence[str]) -> object:  # noqa: ARG002 of some
        """Return the answer that several cells of a table together state.

        Raises:
            DomainError: if they do not state an answer.

        """
        raise DomainError

    def truth(self, answer: object) -> object:
        """Return an answer in a normal form, which is equal for equal answers."""
        return answer

    def samples(self) -> Iterable[object]:
        """Return answers that are spread evenly over all possible answers."""
        return self.labels

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 of numbers
        """Return the answers that an audit distinguishes; none if they are those of `labels`.

        Args:
            midpoint: whether to include the middle of a range.

        """
        return ()


def refused(*allowed: str, **more: str) -> Mapping[str, str]:
    """Return `REFUSED` without some keys and with others."""
    return {key: sentence for key, sentence in REFUSED.items() if key not in allowed} | more


def literals(values: Sequence[str], form: str, apart: str, otherwise: str = "str") -> str:
    """Return the type of a few texts, or of any text if they are too many for a type checker."""
    if len(values) > MOST_LITERALS:
        return otherwise
    return form.format(apart.join(json.dumps(value, ensure_ascii=False) for value in values))


def pair(answer: object) -> tuple[object, object]:
    """Return the two parts of an answer.

    Raises:
        DomainError: if it is not a tuple or list of two.

    """
    if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004 a pair
        raise DomainError
    return answer[0], answer[1]


class _NoCoins(Coins):
    """The coins for a domain that tosses none."""

    def bernoulli(self, numerator: int) -> bool:
        raise AssertionError(numerator)

    def below(self, bound: int) -> int:
        raise AssertionError(bound)


NO_COINS: Final = _NoCoins()
"""For answers whose encoding is the same for all coins."""
