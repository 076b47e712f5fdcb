"""The kinds for two metrics that are answered together: each pair of answers is one category.

The answer to the first metric is called the *group*. If the second metric is a number, the number
is rounded to one of a few points, at random and without bias. Each pair of a group and a point is
one category.

For a small epsilon, estimates are most precise with two points, the ends of the range, because each
additional point adds inputs to the channel. For a large epsilon, estimates with more points are
more precise, because rounding to few points costs more precision than additional inputs do. The
measurements behind `POINTS` are in ``docs/research/models.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Final

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.encoding import Labels
from client_sdk.protocol.kinds.kind import (
    MEMBERS_APART,
    AskedMetric,
    Kind,
    Label,
    Law,
    NamedAnswer,
    pair,
    refused,
    word,
)
from client_sdk.protocol.kinds.number import Count, Number
from client_sdk.protocol.kinds.words import either, escaped, said
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel, Coins
    from client_sdk.protocol.requested_epsilon import RequestedEpsilon

Crossed = Boolean | Category

MAX_CELLS: Final = 256
"""The maximum number of pairs of answers. With more pairs, shares would be mostly noise even with a
million devices, and computing the covariance would take seconds."""

POINTS: Final = ((9, 256), (5, 32), (3, 4))
"""Pairs (m, r), in descending order of m. Numbers are rounded to the m points of the first pair for
which r times the number of groups is at most e**epsilon. For example, with 2 groups, there are 3
points if e**epsilon is at least 8, and 5 points if it is at least 64."""

LEAST_POINTS: Final = 2
"""The minimum number of points for rounding a number: the ends of its range."""

MEAN: Final = ("mean", "")
"""The statistic and the scale that a number in a pair must have. The empty scale is linear."""

_CROSSED: Final = (
    "the first a boolean, category or ordinal; the second also one of these, or a number whose mean is estimated"
)


def read_cross(table: TomlTable, raw: object, others: Mapping[str, Kind | None]) -> Kind | None:
    """Return the kind of a pair of metrics.

    If there is a mistake, it is added to the table, and the result is None.

    ``raw`` is the value of the key ``cross``. The keys of ``others`` are the names of the metrics
    that may be combined. The values are the kinds of these metrics; a metric that has mistakes has
    the value None.
    """
    if not isinstance(raw, list) or len(raw) != 2 or not all(isinstance(name, str) for name in raw):  # noqa: PLR2004
        table.mistake("cross", 'must name two metrics, such as ["os", "dark_mode"]')
        return None
    kinds = [others[name] for name in raw if name in others]
    if None in kinds:  # the mistake of that metric was already reported
        return None
    first, second = kinds if len(kinds) == len(set(raw)) == len(raw) else (None, None)
    names = (raw[0], raw[1])
    if isinstance(first, Crossed) and isinstance(second, Crossed):
        return _with_cells(table, Cross(first, second, names), first.size * second.size, "pairs of values; at most {}")
    if isinstance(first, Crossed) and isinstance(second, Number | Count) and (second.statistic, second.scale) == MEAN:
        ends = "groups; the means of at most {}"
        return _with_cells(table, MeanByGroup(first, second, names), 2 * first.size, ends, 2)
    if isinstance(first, Crossed) and second is not None and second.statistic:
        table.mistake(
            "cross", 'must name as its second metric a number or a count that has statistic = "mean" and no scale'
        )
        return None
    table.mistake("cross", f"must name two different metrics of this registry: {_CROSSED}")
    return None


def _with_cells(table: TomlTable, kind: Kind, cells: int, what: str, each: int = 1) -> Kind | None:
    if cells <= MAX_CELLS:
        return kind
    most = what.format(MAX_CELLS // each)
    table.mistake("cross", f"has {cells // each} {most} can be told apart")
    return None


class _Pair(Kind):
    """The base class of `Cross` and `MeanByGroup`."""

    __slots__ = ()

    first: Crossed
    second: Crossed | Number | Count
    names: tuple[str, str]

    @property
    def parts(self) -> tuple[Kind, ...]:
        return self.first, self.second

    @property
    def expected(self) -> str:
        return f"a pair: first {self.first.expected}, then {self.second.expected}"

    @property
    def expected_in_cell(self) -> str:
        return f", then {MEMBERS_APART!r}, then ".join(part.expected_in_cell for part in self.parts)

    def said_of_others(self, say: Sentences) -> Iterator[str]:
        for part in self.parts:
            yield from part.said_of_others(say)

    def parse(self, cell: str) -> object:
        return self.parse_columns(cell.split(MEMBERS_APART))

    @property
    def crossed(self) -> tuple[str, ...]:
        return self.names

    def parse_columns(self, cells: Sequence[str]) -> object:
        if len(cells) != len(self.parts):
            raise DomainError
        return tuple(part.parse(each) for part, each in zip(self.parts, cells, strict=True))

    @property
    def python_type(self) -> str:
        return f"tuple[{self.first.python_type}, {self.second.python_type}]"

    @property
    def typescript_type(self) -> str:
        return f"readonly [{self.first.typescript_type}, {self.second.typescript_type}]"

    @property
    def browser_refusal(self) -> str:
        reasons = (reason for part in self.parts for reason in (part.cross_refusal, part.browser_refusal))
        return next(filter(None, reasons), "")


@dataclass(frozen=True, slots=True)
class Cross(_Pair, Labels):
    """A pair of answers to two metrics. Each metric has a few possible answers.

    If the first answer is input i of its kind, and the second answer is input j of its kind, the
    pair is input i * n + j. Here, n is the number of possible answers to the second metric.

    Attributes:
        first: the kind of the metric that defines the groups.
        second: the kind of the metric to compare between groups.
        names: the names of the two metrics, for display; not part of `Metric.edition`.
    """

    name: ClassVar[str] = "cross"

    first: Crossed
    second: Crossed
    names: tuple[str, str] = ("first", "second")

    @property
    def size(self) -> int:
        """The number of possible pairs of answers, which is the number of inputs."""
        return self.first.size * self.second.size

    @property
    def labels(self) -> tuple[Label, ...]:
        """The pair of answers for each input."""
        return tuple(product(self.first.labels, self.second.labels))  # type: ignore[arg-type] # the labels of a part are never pairs

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return {"cross": [{"kind": part.name, **part.definition} for part in self.parts]}

    def symbol(self, answer: object) -> int:
        """Return the channel's input for a pair of answers."""
        group, outcome = pair(answer)
        return self.first.symbol(group) * self.second.size + self.second.symbol(outcome)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield sentences for users about both metrics."""
        first, second = map(escaped, self.names)
        yield say("statement.cross", first=first, second=second)
        yield from self.said_of_others(say)


@dataclass(frozen=True, slots=True)
class MeanByGroup(_Pair):
    """A group and a number. The number is rounded to one of several evenly spaced points.

    Input g * points + j represents group g and point j. ``first``, ``second`` and ``names`` are as
    in `Cross`, and ``points`` is at least 2.
    """

    name: ClassVar[str] = "mean-by-group"
    refused: ClassVar[Mapping[str, str]] = refused(
        "unit",
        permanent_epsilon="does not apply to the mean of a number by group; remove it",
        fill_in="cannot be used with mean-by-group; record an answer in every window instead",
    )
    is_named: ClassVar[bool] = False
    shapes: ClassVar[tuple[str, ...]] = ("labels",)

    first: Crossed
    second: Number | Count
    names: tuple[str, str] = ("first", "second")
    points: int = LEAST_POINTS

    @property
    def size(self) -> int:
        """The number of inputs: one for each group and each point."""
        return self.first.size * self.points

    @property
    def labels(self) -> tuple[Label, ...]:
        """The group and the point for each input. The point is a string."""
        points = [f"{float(self.second.number_at(point, self.points)):g}" for point in range(self.points)]
        return tuple((group, point) for group in self.first.labels for point in points)  # type: ignore[misc] # labels of parts are not pairs

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return {"cross": [{"kind": part.name, **part.definition} for part in self.parts], "points": self.points}

    def fitted(self, table: TomlTable, epsilon: RequestedEpsilon, mechanism: str) -> Kind:  # noqa: ARG002 used by other kinds
        """Return a copy of this kind with the number of points in `POINTS` for an epsilon."""
        return self.rounded_for(epsilon.odds)

    def rounded_for(self, odds: Fraction) -> MeanByGroup:
        """Return a copy of this kind with the number of points for e**epsilon = ``odds``."""
        groups = self.first.size
        fitting = (m for m, least in POINTS if odds >= least * groups and m * groups <= MAX_CELLS)
        return replace(self, points=next(fitting, LEAST_POINTS))

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:  # noqa: ARG002 used by other kinds
        """Return the channel's input for a group and a number. One coin rounds the number."""
        group, number = pair(answer)
        return self.first.symbol(group) * self.points + self.second.encode(number, self.points, coins)

    def law(self, answer: object, inputs: int) -> Law:  # noqa: ARG002 used by other kinds
        """Return the probability of each input that `encode` may return for an answer."""
        group, number = pair(answer)
        first = self.first.symbol(group) * self.points
        return {first + point: chance for point, chance in self.second.law(number, self.points).items()}

    def samples(self) -> Iterable[object]:
        """Return all pairs of a group and one of the numbers in ``second.samples()``."""
        return product(self.first.labels, self.second.samples())

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 used by kinds of numbers
        """Return the combinations of the first or last group with the minimum or maximum."""
        groups = self.first.labels
        pairs = product(dict.fromkeys((groups[0], groups[-1])), self.second.extremes())
        return tuple(NamedAnswer((group, end.value), f"{word(group)}, {end.name}") for group, end in pairs)

    def counted(self, say: Sentences, unit: str = "") -> str:
        """Return a phrase about clipping; empty if the kind clips no numbers."""
        return self.second.counted(say, unit)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield sentences for users about the rounding and about unlisted answers."""
        group, number = map(escaped, self.names)
        if self.points == LEAST_POINTS:
            yield say("statement.group_at_ends", group=group, number=number)
        else:
            yield say("statement.group", group=group, number=number, points=self.points)
        yield from self.said_of_others(say)

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:  # noqa: ARG002
        """Return the most likely groups and points for a symbol, in words."""
        places = (divmod(each, self.points) for each in channel.likeliest(symbol))
        return either(
            (
                f"{said(self.first.labels[group], say)}, {self.second.said_at(point, self.points, say)}"
                for group, point in places
            ),
            say,
        )
