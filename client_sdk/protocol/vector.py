"""The kind ``vector``: the answer is a vector, such as an embedding.

The mean of the vectors on all devices is estimated.

A vector is encoded as integers that are the same on every machine. Each number is converted to the
nearest 64-bit float, divided by ``norm``, and rounded half to even to a multiple of 2**-20.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.key import Key, whole
from client_sdk.protocol.kinds.kind import MEMBERS_APART, AskedMetric, Kind, Label, Law, NamedAnswer, refused
from client_sdk.protocol.kinds.nearest import MOST_COORDINATE, NUMBERS, sizes_of
from client_sdk.protocol.kinds.number import decimal_in
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel

UNIT: Final = 2**20
"""The integer that represents ``norm``, the maximum norm of a vector.

A rotated vector with 4,096 coordinates has coordinates below 2**38. A double represents such
integers exactly.
"""

MAX_LENGTH: Final = 4095
"""The maximum number of coordinates. The encoding adds one coordinate, and the largest rotation has
4,096 coordinates."""

LEAST_NORM, GREATEST_NORM = Fraction(1, MOST_COORDINATE), Fraction(MOST_COORDINATE)
"""The minimum and the maximum of ``norm``."""


def _read_norm(table: TomlTable, key: Key, _: Mapping[str, Any]) -> Fraction | None:
    norm = table.number(key.name, required=key.required)
    if norm is not None and not LEAST_NORM <= norm <= GREATEST_NORM:
        table.mistake(
            key.name, f"must be from {float(LEAST_NORM):g} to {float(GREATEST_NORM):g}; longer vectors are shortened"
        )
        return None
    return norm


NORM: Final = Key(
    "norm",
    {"type": "number", "minimum": float(LEAST_NORM), "maximum": float(GREATEST_NORM)},
    "the maximum norm of a vector, or of a model's features; longer vectors are shortened",
    read=_read_norm,
)


class Ball(Kind):
    """The base class of kinds whose answers are encoded, without coins, as vectors of integers.

    Attributes:
        length: the number of coordinates, from 1 to `MAX_LENGTH`.
        norm: the exact maximum norm.
    """

    __slots__ = ()

    length: int
    norm: Fraction

    is_named: ClassVar[bool] = False
    shapes: ClassVar[tuple[str, ...]] = ("ball",)

    def law(self, answer: object, inputs: int) -> Law:
        """Map the only possible input for an answer to its probability, which is 1."""
        return {self.vector(answer, inputs): Fraction(1)}

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:  # noqa: ARG002 used by kinds of other shapes
        """Return an answer's encoding, a vector of ``inputs`` integers whose norm is `UNIT`."""
        return self.vector(answer, inputs)

    @abstractmethod
    def vector(self, answer: object, inputs: int) -> tuple[int, ...]:
        """Return an answer's encoding, a vector of ``inputs`` integers whose norm is `UNIT`."""

    def draw(self, inputs: int, coins: Coins) -> tuple[int, ...]:
        """Return a uniformly drawn signed axis of length `UNIT`, to replace an invalid answer.

        A signed axis is a vector with a single nonzero coordinate. The mean of all signed axes is
        0, like the mean of all directions.
        """
        place, sign = divmod(coins.below(2 * inputs), 2)
        return (*[0] * place, -UNIT if sign else UNIT, *[0] * (inputs - place - 1))

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:  # noqa: ARG002
        """Describe a symbol in words: the axis, its direction, and the index of the rotation."""
        rotation, axis = divmod(symbol, 2 * channel.inputs)
        return say("reported.against" if axis % 2 else "reported.along", axis=str(axis // 2), rotation=str(rotation))


@dataclass(frozen=True, slots=True)
class Vector(Ball):
    """A vector with a fixed number of coordinates, scaled down if its norm is above ``norm``."""

    name: ClassVar[str] = "vector"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("length", whole(MAX_LENGTH), "the number of coordinates of a vector"),
        NORM,
    )
    refused: ClassVar[Mapping[str, str]] = refused(
        permanent_epsilon="does not apply to a vector, whose rotations are new in every window",
        fill_in="does not apply to a vector; record an answer in every window instead",
    )
    has_samples: ClassVar[bool] = False

    length: int
    norm: Fraction

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        return f"a list of {self.length} {NUMBERS}"

    @property
    def definition(self) -> dict[str, object]:
        """The length and the maximum norm, in the form that `Metric.edition` hashes.

        The norm is a string such as ``1/3``.
        """
        return {"length": self.length, "norm": str(self.norm)}

    @property
    def expected_in_cell(self) -> str:
        """The format of a vector in a table cell, in words."""
        return f"{self.length} {NUMBERS}, separated by {MEMBERS_APART!r}"

    def vector(self, answer: object, inputs: int) -> tuple[int, ...]:
        """Return an answer's encoding, a vector of ``inputs`` integers whose norm is `UNIT`."""
        if not isinstance(answer, Sized) or len(answer) != self.length:
            raise DomainError
        norm = float(self.norm)
        return lifted(clipped([round(size / norm * UNIT) for size in sizes_of(answer)]), inputs)

    def parse(self, cell: str) -> object:
        """Parse a table cell in which `MEMBERS_APART` separates the numbers."""
        return self.parse_columns(cell.split(MEMBERS_APART))

    def columns(self, metric: str) -> Sequence[str]:
        """Return the names of the table columns of a vector, one for each coordinate."""
        return [f"{metric}.{place}" for place in range(self.length)]

    def parse_columns(self, cells: Sequence[str]) -> object:
        """Return the numbers in the cells of several columns."""
        numbers = map(decimal_in, cells)
        return [None if number is None else float(number) for number in numbers]

    def truth(self, answer: object) -> object:
        """Return the numbers of an answer as a tuple."""
        return tuple(cast("Sequence[float]", answer))

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 used by kinds of numbers
        """Return two opposite vectors of the maximum norm."""
        rest, norm = [0.0] * (self.length - 1), float(self.norm)
        return NamedAnswer([norm, *rest], "along the first axis"), NamedAnswer([-norm, *rest], "against it")

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield a sentence for users about the vector's length."""
        yield say("statement.vector", length=self.length)

    @property
    def python_type(self) -> str:
        """The type of an answer: a list of numbers."""
        return "Sequence[float]"


def clipped(coordinates: list[int]) -> list[int]:
    """Scale a vector down to the norm `UNIT` if its norm is larger. Round towards 0."""
    square = sum(map(mul, coordinates, coordinates))
    if square <= UNIT**2:
        return coordinates
    length = isqrt(square - 1) + 1
    return [abs(value) * UNIT // length * (-1 if value < 0 else 1) for value in coordinates]


def lifted(coordinates: Sequence[int], dimension: int) -> tuple[int, ...]:
    """Extend a vector to ``dimension`` coordinates and, up to rounding, to the norm `UNIT`.

    One coordinate is added so that the norm is `UNIT`. All further coordinates are 0.
    """
    missing = UNIT**2 - sum(map(mul, coordinates, coordinates))
    if missing < 0 or len(coordinates) >= dimension:
        raise ValueError("the vector has too many coordinates, or its norm is too large; clip it first")
    return (*coordinates, isqrt(missing), *[0] * (dimension - len(coordinates) - 1))
