"""The kinds for values on a scale. Either the share of each value or only the mean is estimated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.grid import Grid, Ratio
from client_sdk.protocol.kinds.key import VALUES, Key
from client_sdk.protocol.kinds.kind import AskedMetric, Kind, NamedAnswer
from client_sdk.protocol.kinds.number import STATISTIC
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable


def _read_mean(table: TomlTable, key: Key, _: Mapping[str, Any]) -> str | None:
    statistic = table.text(key.name)
    if statistic and statistic != "mean":
        table.mistake(key.name, 'must be "mean" for an ordinal; remove it to estimate the mean and all shares')
    return statistic or None


@dataclass(frozen=True, slots=True)
class Ordinal(Category):
    """One value on a scale. The values are in ascending order."""

    name: ClassVar[str] = "ordinal"
    is_ordered: ClassVar[bool] = True
    statistics: ClassVar[tuple[str, ...]] = ("mean",)
    keys: ClassVar[tuple[Key, ...]] = (
        VALUES,
        STATISTIC._replace(narrower={"const": "mean"}, required=False, read=_read_mean),
    )

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 used by other kinds
        """Return an `OrdinalMean` if ``statistic`` is set, otherwise an `Ordinal`."""
        scale = cls(values["values"])
        return OrdinalMean(scale) if values["statistic"] else scale


@dataclass(frozen=True, slots=True)
class OrdinalMean(Grid):
    """One value on a scale. Values count as 1, 2, 3 and so on, and only the mean is estimated.

    Attributes:
        scale: the kind that lists the values, in ascending order.
    """

    name: ClassVar[str] = Ordinal.name
    statistics: ClassVar[tuple[str, ...]] = ("mean",)
    unshared: ClassVar[str] = 'estimates the share of every value; remove statistic, or use mechanism = "auto"'
    statistic: ClassVar[str] = "mean"  # type: ignore[misc] # a field in other kinds
    refused: ClassVar[Mapping[str, str]] = Ordinal.refused
    takes_fill_value: ClassVar[bool] = False
    low: ClassVar[Fraction] = Fraction(1)  # type: ignore[misc] # a field in other kinds

    scale: Ordinal

    @property
    def high(self) -> Fraction:  # type: ignore[override] # a field in other kinds
        """The number that represents the last value."""
        return Fraction(self.scale.size)

    @property
    def is_whole(self) -> bool:
        """True, because the numbers are integers."""
        return True

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        return self.scale.expected

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes."""
        return self.scale.definition | {"statistic": self.statistic}

    def part(self, answer: object) -> Ratio:
        """Return an answer's position, from 0 for the first value to 1 for the last value."""
        return self.scale.symbol(answer), self.scale.size - 1

    def answer_at(self, number: Fraction) -> object:
        """Round a number, and return the value that has the rounded number on the scale.

        The first value has the number 1.
        """
        return self.scale.values[round(number) - 1]

    def named_at(self, number: Fraction) -> NamedAnswer:
        """Round a number, and return the value that has the rounded number on the scale.

        The name of the answer is the value itself.
        """
        value = self.scale.values[round(number) - 1]
        return NamedAnswer(value, value)

    def said_at(self, point: int, points: int, say: Sentences) -> str:  # noqa: ARG002 used by other kinds
        """Return the value on the scale that is nearest to a grid point.

        The grid has ``points`` points.
        """
        return self.scale.values[round(self.number_at(point, points)) - 1]

    def samples(self) -> tuple[str, ...]:
        """Return every value."""
        return self.scale.values

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield a sentence for users about the values."""
        return self.scale.statement(asked, say)

    @property
    def python_type(self) -> str:
        """The type of an answer: a ``Literal`` of the values, or ``str`` for a long list."""
        return self.scale.python_type

    @property
    def browser_refusal(self) -> str:
        """Why the browser SDK does not support the metric."""
        return "the SDK for browsers and Node has no statistic for an ordinal; remove it"
