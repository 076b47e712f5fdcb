"""The interface of every kind of metric: its keys, its encoding and its sentences for users.

A kind defines the possible answers, and encodes an answer as an input of a channel. The channel
then perturbs this input (see `client_sdk.protocol.mechanisms`).
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
"""An answer whose share is estimated. A tuple is a pair of answers, and None means "no answer"."""


def word(value: Label) -> str:
    """Return an answer as a human-readable string.

    Truth values are spelled as in the registry. A comma separates the answers of a pair.
    """
    if value is None:
        return "nothing recorded"
    if isinstance(value, tuple):
        return ", ".join(word(part) for part in value)
    return value if isinstance(value, str) else str(value).lower()


Input = Any
"""An input of a channel: an integer, or a tuple of integers. The mechanism determines which of the
two."""

Law = Mapping[Input, Fraction]
"""Maps each possible input for an answer to its exact probability."""

REFUSED: Final[Mapping[str, str]] = {
    "unit": "is only for a number or a count; remove it",
    "utility": "is only for the values of a category or an ordinal; remove it",
    "fill_value": "is only for a count or a mean with fill_in = true; remove it",
    "persist": "is only for a count, which adds up over a window; remove it",
}
"""The keys that most kinds do not allow, each with an error message."""

MOST_LITERALS: Final = 1000
"""The maximum number of values in a generated type, because more values would slow down type
checkers. With more values, the type allows any string, and `record` rejects unlisted strings at run
time."""

MAX_CATEGORIES: Final = 10**6
"""The maximum number of answers with estimated shares. A tally of a million counters takes 8 MB,
the most that a store should use for one metric."""

MEMBERS_APART: Final = "|"
"""The separator in a table cell between the members of a set, the answers of a pair, or the
coordinates of a vector."""


class Fill(NamedTuple):
    """The answer that a device reports if nothing was recorded in a window.

    Attributes:
        answer: the argument of `Metric.perturb`. None means "no answer", an additional input of the
            channel.
    """

    answer: object


class AskedMetric(NamedTuple):
    """The properties of a metric that the statement for users describes in addition to the kind.

    Attributes:
        unit: the unit of the numbers, such as ms; may be empty.
        window: how often devices report: ``day``, ``week`` or ``month``.
        inputs: the number of the channel's inputs.
    """

    unit: str
    window: str
    inputs: int


class NamedAnswer(NamedTuple):
    """An answer, and the name under which the answer is shown.

    Attributes:
        value: the answer as the SDK records it.
        name: a short name.

    """

    value: object
    name: str


class Kind(ABC):
    """The definition of the possible answers to a metric.

    Attributes:
        name: the kind's name in a registry.
        keys: those keys of a metric's table that belong to the kind.
        refused: the keys that the kind does not allow, each with an error message.
        rule: the JSON Schema of the rules for combinations of the kind's keys; empty for most
            kinds.
        call: the SDK's method for recording answers: ``record``, ``count`` or ``active``.
        shapes: the forms that the kind's inputs can take, such as ``labels``. A mechanism supports
            one form.
        unshared: the error message for a mechanism that needs ``labels``, if this kind has no
            labels.
        always_persists: whether counts are stored on disk even if ``persist`` is false.
        drawn: for sets, the number of elements in a padded set; otherwise 0.
        unit: the unit of the numbers if the registry sets no unit.
        statistic: ``mean``, ``distribution`` or ``quantiles``; empty if shares are estimated.
        statistics: the values that a registry may give to the key ``statistic``.
        is_named: whether each input represents one answer, so that a report can name this answer.
        approved: for the kind ``text``, the discovered texts that may be published; empty for all
            other kinds.
        is_ordered: whether the values have an order, and thus meaningful distances.
        has_samples: whether `samples` returns answers spread evenly over all possible answers.
        cross_refusal: why the browser SDK does not support pairs (``cross``) with this kind; empty
            if the SDK supports them.
        expected: the valid answers, in words.
        expected_in_cell: the format of an answer in a table cell, in words.
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
        """Return the kind that a table describes.

        If there are mistakes, they are added to the table, and the result is None.
        """
        before = table.mistake_count
        values: dict[str, Any] = {}
        for key in cls.keys:
            values[key.name] = key.read(table, key, values)
        return None if table.mistake_count > before else cls.from_keys(table, values)

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 used by other kinds
        """Return the kind whose keys have the given values. Unset keys have the value None.

        If the values cannot be combined, add the mistake to the table and return None.
        """
        return cls(**values)

    @property
    @abstractmethod
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """The valid answers, described for error messages."""

    @property
    def expected_in_cell(self) -> str:
        """The format of an answer in a table cell."""
        return self.expected

    @property
    def size(self) -> int | None:
        """The number of estimated shares; None if no shares are estimated."""
        return None

    @property
    def labels(self) -> Sequence[Label]:
        """The answer for each input; empty if inputs do not represent answers."""
        return ()

    @property
    def most(self) -> int:
        """The largest valid sum of the numbers in a window; 0 if no sum is computed."""
        return 0

    @property
    def parts(self) -> tuple[Kind, ...]:
        """The kinds of both metrics if this kind is a pair of metrics; otherwise, this kind."""
        return (self,)

    @property
    def crossed(self) -> tuple[str, ...]:
        """The names of the two metrics if this kind is a pair of metrics; otherwise empty."""
        return ()

    @abstractmethod
    def encode(self, answer: object, inputs: int, coins: Coins) -> Input:
        """Return the input for an answer, for a channel with ``inputs`` inputs.

        Raises:
            DomainError: if the answer is invalid; the error does not contain the answer.
        """

    @abstractmethod
    def law(self, answer: object, inputs: int) -> Law:
        """Return the probability of each possible input for an answer."""

    def draw(self, inputs: int, coins: Coins) -> Input:
        """Return a uniformly drawn input, to replace an answer that `encode` refuses."""
        return coins.below(inputs)

    def fitted(self, table: TomlTable, epsilon: RequestedEpsilon, mechanism: str) -> Kind:  # noqa: ARG002 used by some kinds
        """Return this kind, adapted to an epsilon and a mechanism. Add any mistake to the table."""
        return self

    def fill(self, table: TomlTable, value: Fraction | None) -> Fill | None:  # noqa: ARG002 used by kinds of numbers
        """Return the answer to report if nothing was recorded in a window.

        If no such answer exists for this kind, add a mistake to the table and return None.
        """
        table.mistake("fill_in", f"does not apply to this {self.name}; record an answer in every window instead")
        return None

    @abstractmethod
    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield lines for users about the possible answers."""

    def counted(self, say: Sentences, unit: str = "") -> str:  # noqa: ARG002 used by kinds of numbers
        """Return a phrase about clipping; empty if the kind clips no numbers."""
        return ""

    def said_of_others(self, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by some kinds
        """Yield lines for users about the replacement of unlisted answers."""
        yield from ()

    @abstractmethod
    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:
        """Return the most likely answers for a symbol, in words."""

    @property
    @abstractmethod
    def python_type(self) -> str:
        """The type of an answer in Python."""

    @property
    def typescript_type(self) -> str:
        """The type of an answer in TypeScript; empty if the browser SDK lacks the kind."""
        return ""

    @property
    def browser_refusal(self) -> str:
        """Why the browser SDK does not support the metric; empty if the SDK supports it."""
        return "" if self.typescript_type else f"the SDK for browsers and Node lacks the kind {self.name}"

    @property
    def compiled(self) -> Mapping[str, object]:
        """The data that the browser SDK needs in addition to `definition`."""
        return {}

    def parse(self, cell: str) -> object:
        """Return the answer in a table cell, without checking it. `encode` checks the answer.

        Raises:
            DomainError: if the cell contains no answer.
        """
        return cell

    def columns(self, metric: str) -> Sequence[str]:  # noqa: ARG002 used by some kinds
        """Return the names of the table columns that contain the parts of an answer.

        The result is empty if a single cell contains the whole answer.
        """
        return self.crossed

    def parse_columns(self, cells: Sequence[str]) -> object:  # noqa: ARG002 used by some kinds
        """Return the answer in the cells of several columns."""
        raise DomainError

    def truth(self, answer: object) -> object:
        """Return an answer in a normal form, which is the same for equivalent answers."""
        return answer

    def samples(self) -> Iterable[object]:
        """Return answers spread evenly over all possible answers."""
        return self.labels

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 used by kinds of numbers
        """Return the answers that an audit compares, or an empty sequence to compare `labels`."""
        return ()


def refused(*allowed: str, **more: str) -> Mapping[str, str]:
    """Return `REFUSED` without the keys in ``allowed``, extended by the entries of ``more``."""
    return {key: sentence for key, sentence in REFUSED.items() if key not in allowed} | more


def literals(values: Sequence[str], form: str, apart: str, otherwise: str = "str") -> str:
    """Return the source code of a type that allows exactly the strings in ``values``.

    If there are more than `MOST_LITERALS` strings, return ``otherwise``.

    ``form`` is the format of the type, and ``apart`` is the separator between the strings.
    """
    if len(values) > MOST_LITERALS:
        return otherwise
    return form.format(apart.join(json.dumps(value, ensure_ascii=False) for value in values))


def pair(answer: object) -> tuple[object, object]:
    """Return the two parts of an answer that is a pair.

    Raises:
        DomainError: if the answer is not a tuple or list of two elements.

    """
    if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004 a pair
        raise DomainError
    return answer[0], answer[1]


class _NoCoins(Coins):
    """Coins that must not be drawn. A draw raises an AssertionError."""

    def bernoulli(self, numerator: int) -> bool:
        raise AssertionError(numerator)

    def below(self, bound: int) -> int:
        raise AssertionError(bound)


NO_COINS: Final = _NoCoins()
"""The argument of `Kind.encode` if the encoding needs no coins."""
