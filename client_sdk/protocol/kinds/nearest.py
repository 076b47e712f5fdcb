"""The nearest of some prototypes: which vector of the registry an app's vector is closest to.

A vector represents a text, a picture or a sound, by an embedding model in the app. The device
reports one label, as for a category, and nothing else about the vector.

Everything is exact and the same on every machine. Each number is read as the nearest binary float
of 64 bits, and rounded to a multiple of 2**-24, half to even: in steps of `GRID`. The nearest
prototype has the minimum squared Euclidean distance, computed in integers; if there are several, it
is the first.
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
"""Steps in 1: the resolution near 1 of 32-bit floats, with which embeddings are computed."""

MAX_PROTOTYPES: Final = 1024

MAX_COORDINATES: Final = 2**16
"""The maximum total of all prototypes' numbers: 1,024 vectors of 64. They take milliseconds."""

VECTOR: Final = r"NUMBER( +NUMBER)*".replace("NUMBER", r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
"""A vector in the registry: a text of numbers separated by blanks.

A list of TOML would be equivalent, but a device would read a thousand vectors in a second instead
of a tenth of one. Python's own `float` would also read 1_000 and NaN.
"""

Point = tuple[int, ...]
"""A vector in steps of the grid."""


def _read_prototypes(table: TomlTable, key: Key, _: Mapping[str, Any]) -> dict[str, Point] | None:
    raw = table.take(key.name, required=True)
    if raw is None:
        return None
    if not isinstance(raw, dict) or not 2 <= len(raw) <= MAX_PROTOTYPES:  # noqa: PLR2004 one prototype asks nothing
        table.mistake(key.name, f"must be a table of 2 to {MAX_PROTOTYPES} labels, each with its vector")
        return None
    points = {label: _read_point(vector) for label, vector in raw.items()}
    problem = _problem(points)
    if problem:
        table.mistake(key.name, problem)
    return {label: point for label, point in points.items() if point is not None}


def _problem(points: Mapping[str, Point | None]) -> str:
    """Return the mistake in vectors, whose invalid ones are None; empty if there is no mistake."""
    lengths = {0 if point is None else len(point) for point in points.values()}
    if not all(map(is_text, points)):
        return f"must have labels of 1 to {MAX_TEXT} printable characters"
    if 0 in lengths:
        label = next(label for label, point in points.items() if point is None)
        return f'{label!r} must be a text of numbers up to {MOST_COORDINATE:,} in size, such as "0.12 -3 7.5"'
    if len(lengths) > 1:
        return f"must all be of one length; there are vectors of {' and '.join(map(str, sorted(lengths)[:2]))} numbers"
    numbers = len(points) * lengths.pop()
    if numbers > MAX_COORDINATES:
        return f"contain {numbers} numbers; at most {MAX_COORDINATES} can be searched in time"
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
    """One of several labeled vectors: input i is the vector of ``values[i]`` and ``points[i]``.

    Attributes:
        points: the vectors in steps of the grid, all different and of the same length.

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
            "of nearest: each label with its vector, a text of numbers",
            read=_read_prototypes,
        ),
    )
    refused: ClassVar[Mapping[str, str]] = refused()
    cross_refusal: ClassVar[str] = "the SDK for browsers and Node cannot cross this kind"

    points: tuple[Point, ...] = field(repr=False)
    _squares: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the values that every search needs: the squared length of each vector."""
        Category.__post_init__(self)
        object.__setattr__(self, "_squares", tuple(sum(map(mul, point, point)) for point in self.points))

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:  # noqa: ARG003 of other kinds
        """Return the nearest of the prototypes."""
        prototypes = values["prototypes"]
        return cls(tuple(prototypes), tuple(prototypes.values()))

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return len(self.points[0])

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        label = Category.expected.__get__(self)
        return f"a list of {self.dimensions} finite numbers up to {MOST_COORDINATE:,} in size; or a label, {label}"

    @property
    def definition(self) -> dict[str, object]:
        """The edition's part on the possible answers: labels, and a digest of the vectors."""
        points = json.dumps(self.points, separators=(",", ":"))
        return {"values": list(self.values), "prototypes": hashlib.sha256(points.encode()).hexdigest()}

    @property
    def answers(self) -> Sequence[object]:
        """The prototypes: each is nearest to itself, so that an audit covers the search, too."""
        return [[steps / GRID for steps in point] for point in self.points]

    def symbol(self, answer: object) -> int:
        """Return the input of the prototype that is nearest to a vector, or of a label.

        Raises:
            DomainError: if the answer is neither. The error contains no part of it.

        """
        if isinstance(answer, str):
            return Category.symbol(self, answer)
        if not isinstance(answer, Sized) or len(answer) != self.dimensions:
            raise DomainError
        return self._nearest(point_of(answer))

    def _nearest(self, point: Point) -> int:
        """Return the nearest prototype's index; |p - x|^2 and |p|^2 - 2 p x have the same order."""
        twice = tuple(2 * coordinate for coordinate in point)
        distances = [
            square - sum(map(mul, prototype, twice))
            for prototype, square in zip(self.points, self._squares, strict=True)
        ]
        return distances.index(min(distances))

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:  # noqa: ARG002 of other kinds
        """Yield a sentence that the answer is the nearest label."""
        yield say("statement.nearest", labels=self.size)

    @property
    def python_type(self) -> str:
        """A vector or a label."""
        return f"Sequence[float] | {Category.python_type.__get__(self)}"

    @property
    def typescript_type(self) -> str:
        """A vector or a label."""
        return f"readonly number[] | {Category.typescript_type.__get__(self)}"

    @property
    def compiled(self) -> Mapping[str, object]:
        """The vectors; the definition contains only their digest."""
        return {"vectors": [list(point) for point in self.points]}


def point_of(numbers: object) -> Point:
    """Return a list, tuple or array of numbers in steps of the grid.

    Raises:
        DomainError: if it has no order, or contains anything but finite numbers of moderate size.

    """
    return tuple(round(size * GRID) for size in sizes_of(numbers))


MOST_COORDINATE: Final = 10**6
"""The largest absolute value of a number: sums of squares then fit into two machine words."""


def sizes_of(numbers: object) -> Iterator[float]:
    """Return the numbers of a list, tuple or array as floats.

    Raises:
        DomainError: if it has no order, at once; or on reaching a value that is not a finite number
            of moderate size.

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
    if not -MOST_COORDINATE <= size <= MOST_COORDINATE:  # NaN fails this, too
        raise DomainError
    return size
