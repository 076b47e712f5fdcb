"""The nearest of some prototypes: which vector of the registry an app's vector is closest to.

A vector is a text, a picture or a sound as an embedding model of the app sees it. The device
reports one label, as of a category, and nothing else of the vector.

Everything is exact and the same on every machine. Each number is taken as the nearest binary float
of 64 bits, and rounded to a multiple of 2**-24, half to even: in steps of `GRID`. The nearest
prototype is that of the least squared Euclidean distance, computed in integers; of several it is
the first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sized
from dataclasses import dataclass, field
from operator import mul
from typing import ClassVar, Final

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.category import Category
from client_sdk.protocol.domain.coordinates import MOST_COORDINATE, sizes_of
from client_sdk.protocol.domain.error import DomainError

GRID: Final = 2**24
"""Steps in one: as fine as a float of 32 bits near 1, in which embeddings are computed."""

MAX_PROTOTYPES: Final = 1024

MAX_COORDINATES: Final = 2**16
"""The most numbers of all prototypes together: 1,024 vectors of 64. They take some milliseconds."""

Point = tuple[int, ...]
"""A vector in steps of the grid."""


@dataclass(frozen=True, slots=True)
class Nearest(Category):
    """One of several labelled vectors: input i is that of ``values[i]`` and ``points[i]``.

    Attributes:
        points: the vectors in steps of the grid, all different and of the same length.

    """

    kind: ClassVar[str] = "nearest"

    points: tuple[Point, ...] = field(repr=False)
    _squares: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute what every search needs: the squared length of each vector."""
        Category.__post_init__(self)
        object.__setattr__(self, "_squares", tuple(sum(map(mul, point, point)) for point in self.points))

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
        """The edition's part on the domain: labels, and a digest of the vectors in order."""
        points = json.dumps(self.points, separators=(",", ":"))
        return {"values": list(self.values), "prototypes": hashlib.sha256(points.encode()).hexdigest()}

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        """Return the input symbol of the prototype that is nearest to a vector, or of a label.

        Raises:
            DomainError: if the answer is neither. It holds nothing of it.

        """
        if isinstance(answer, str):
            return Category.encode(self, answer, inputs, coins)
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


def point_of(numbers: object) -> Point:
    """Return a list, tuple or array of numbers in steps of the grid.

    Raises:
        DomainError: if it has no order, or holds what is no finite number of moderate size.

    """
    return tuple(round(size * GRID) for size in sizes_of(numbers))
