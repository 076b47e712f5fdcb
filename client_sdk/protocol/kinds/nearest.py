"""The kind ``nearest``: the answer is the label of the vector nearest to an app's vector.

An embedding model in the app turns a text, a picture or a sound into a vector. The registry lists
labeled vectors, called *prototypes*. The device reports the label of the nearest prototype, like a
value of a category, and nothing else about the app's vector.

The search is exact, and has the same result on every machine. The device searches as follows:

* Each number is converted to the nearest 64-bit float.
* The float is rounded half to even to a multiple of 2**-24.
* The nearest prototype has the minimum squared Euclidean distance, computed in integers.
* Of several nearest prototypes, the first one is chosen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from numbers import Real
from operator import mul
from typing import Any, ClassVar, Final

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.key import Key, text
from client_sdk.protocol.kinds.kind import AskedMetric, Kind, refused
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import MAX_TEXT, TomlTable, is_text

GRID: Final = 2**24
"""Coordinates are rounded to multiples of 1 / `GRID`. Near 1, 32-bit floats are about as
precise."""

MAX_PROTOTYPES: Final = 1024

MAX_COORDINATES: Final = 2**16
"""The maximum number of coordinates of all prototypes together, such as 1,024 prototypes with 64
coordinates each. A search then takes milliseconds."""

VECTOR: Final = r"NUMBER( +NUMBER)*".replace("NUMBER", r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
"""The format of a vector in the registry: numbers in a string, separated by blanks. A device reads
a thousand such vectors in a tenth of a second; TOML lists would take a second. Python's `float`
would also accept 1_000 and NaN."""

Point = tuple[int, ...]
"""A vector with integer coordinates, in units of 1 / `GRID`."""


def _read_prototypes(table: TomlTable, key: Key, _: Mapping[str, Any]) -> dict[str, Point] | None:
    raw = table.take(key.name, required=True)
    if raw is None:
        return None
    if not isinstance(raw, dict) or not 2 <= len(raw) <= MAX_PROTOTYPES:  # noqa: PLR2004 a single prototype carries no information
        table.mistake(key.name, f"must be a table of 2 to {MAX_PROTOTYPES} labels, each with its vector")
        return None
    points = {label: _read_point(vector) for label, vector in raw.items()}
    problem = _problem(points)
    if problem:
        table.mistake(key.name, problem)
    return {label: point for label, point in points.items() if point is not None}


def _problem(points: Mapping[str, Point | None]) -> str:
    """Return the mistake in labeled vectors, as a message; empty if there is none."""
    lengths = {0 if point is None else len(point) for point in points.values()}
    if not all(map(is_text, points)):
        return f"must have labels of 1 to {MAX_TEXT} printable characters"
    if 0 in lengths:
        label = next(label for label, point in points.items() if point is None)
        return f'{label!r} must be a string of {NUMBERS}, such as "0.12 -3 7.5"'
    if len(lengths) > 1:
        return f"must have the same length; there are vectors of {' and '.join(map(str, sorted(lengths)[:2]))} numbers"
    numbers = len(points) * lengths.pop()
    if numbers > MAX_COORDINATES:
        return f"contain {numbers} numbers; at most {MAX_COORDINATES} can be searched fast enough"
    if len(set(points.values())) < len(points):
        return "must not contain a vector twice: its second label would never be reported"
    return ""


def _read_point(vector: object) -> Point | None:
    if not isinstance(vector, str) or not re.fullmatch(VECTOR, vector):
        return None
    try:
        return point_of([float(number) for number in vector.split()])
    except DomainError:
        return None


@dataclass(frozen=True, slots=True)
class Nearest(Category):
    """One of several labeled vectors: input i has label ``values[i]`` and vector ``points[i]``.

    Attributes:
        points: the vectors in units of 2**-24, all different and of the same length.
    """

    name: ClassVar[str] = "nearest"
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "prototypes",
            {
                "type": "object",
                "minProperties": 2,
                "maxProperties": MAX_PROTOTYPES,
                "propertyNames": text() | {"description": "a label"},
                "additionalProperties": {"type": "string", "pattern": f"^{VECTOR}$"},
            },
            "the labels, each with its vector, which is a string of numbers",
            read=_read_prototypes,
        ),
    )
    refused: ClassVar[Mapping[str, str]] = refused()
    cross_refusal: ClassVar[str] = "the SDK for browsers and Node cannot cross this kind"

    points: tuple[Point, ...] = field(repr=False)
    _squares: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Category.__post_init__(self)
        object.__setattr__(self, "_squares", tuple(sum(map(mul, point, point)) for point in self.points))

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 used by other kinds
        """Return the kind that has the prototypes listed in the registry."""
        prototypes = values["prototypes"]
        return cls(tuple(prototypes), tuple(prototypes.values()))

    @property
    def dimensions(self) -> int:
        """The number of coordinates of each vector."""
        return len(self.points[0])

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        label = Category.expected.__get__(self)
        return f"a list of {self.dimensions} {NUMBERS}, or a label: {label}"

    @property
    def definition(self) -> dict[str, object]:
        """The labels and a digest of the vectors, in the form that `Metric.edition` hashes."""
        points = json.dumps(self.points, separators=(",", ":"))
        return {"values": list(self.values), "prototypes": hashlib.sha256(points.encode()).hexdigest()}

    @property
    def answers(self) -> Sequence[object]:
        """The prototypes, as vectors.

        An audit that uses these answers also tests the search for the nearest prototype.
        """
        return [[steps / GRID for steps in point] for point in self.points]

    def symbol(self, answer: object) -> int:
        """Return the channel's input for a label, or for the prototype nearest to a vector."""
        if isinstance(answer, str):
            return Category.symbol(self, answer)
        if not isinstance(answer, Sized) or len(answer) != self.dimensions:
            raise DomainError
        return self._nearest(point_of(answer))

    def _nearest(self, point: Point) -> int:
        """Return the index of the prototype p that minimizes |p|^2 - 2 p x; x is ``point``."""
        twice = tuple(2 * coordinate for coordinate in point)
        distances = [
            square - sum(map(mul, prototype, twice))
            for prototype, square in zip(self.points, self._squares, strict=True)
        ]
        return distances.index(min(distances))

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 used by other kinds
        """Yield a sentence that tells users that a device reports only the nearest label."""
        yield say("statement.nearest", labels=self.size)

    @property
    def python_type(self) -> str:
        """The type of an answer: a vector or a label."""
        return f"Sequence[float] | {Category.python_type.__get__(self)}"

    @property
    def typescript_type(self) -> str:
        """The type of an answer: a vector or a label."""
        return f"readonly number[] | {Category.typescript_type.__get__(self)}"

    @property
    def compiled(self) -> Mapping[str, object]:
        """The vectors of the prototypes; `definition` contains only their digest."""
        return {"vectors": [list(point) for point in self.points]}


def point_of(numbers: object) -> Point:
    """Return the numbers of a list, tuple or array in units of 2**-24, rounded to integers."""
    return tuple(round(size * GRID) for size in sizes_of(numbers))


MOST_COORDINATE: Final = 10**6
"""The largest absolute value of a coordinate. Sums of squares then fit into two machine words."""

NUMBERS: Final = f"numbers from -{MOST_COORDINATE:,} to {MOST_COORDINATE:,}"
"""The range of a coordinate, for error messages."""


def sizes_of(numbers: object) -> Iterator[float]:
    """Return the numbers of a list, tuple or array as floats.

    Raises:
        DomainError: immediately if ``numbers`` is not an ordered collection; during iteration if a
            value is not a finite number of at most `MOST_COORDINATE` in absolute value.

    """
    if not isinstance(numbers, Iterable) or isinstance(numbers, AbstractSet | Mapping | bytes | bytearray):
        raise DomainError
    return map(_size, numbers)


def _size(number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, Real):
        raise DomainError
    try:
        size = float(number)
    except (ArithmeticError, TypeError, ValueError):
        raise DomainError from None
    if not -MOST_COORDINATE <= size <= MOST_COORDINATE:  # also true for NaN
        raise DomainError
    return size
