"""The prototypes of a metric: a table from label to vector, read strictly.

A vector is a text of numbers with blanks between them. A list of TOML would say the same, but a
device would read a thousand vectors for a second instead of a tenth of one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from client_sdk.protocol.domain import MAX_COORDINATES, MAX_PROTOTYPES, DomainError, Nearest
from client_sdk.protocol.domain.coordinates import MOST_COORDINATE
from client_sdk.protocol.domain.nearest import Point, point_of
from client_sdk.protocol.registry.table import MAX_TEXT, TomlTable, is_text

NUMBER: Final = r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"

VECTOR: Final = f"{NUMBER}( +{NUMBER})*"
"""A vector as it is written. Python's own `float` would also read 1_000 and NaN."""

_VECTOR: Final = re.compile(VECTOR)


def read_nearest(table: TomlTable) -> Nearest | None:
    """Return the domain of a table; None if it has mistakes, which the table collects."""
    raw = table.take("prototypes", required=True)
    if raw is None:
        return None
    if not isinstance(raw, dict) or not 2 <= len(raw) <= MAX_PROTOTYPES:  # noqa: PLR2004 one prototype asks nothing
        table.mistake("prototypes", f"must be a table of 2 to {MAX_PROTOTYPES} labels, each with its vector")
        return None
    points = {label: _point(vector) for label, vector in raw.items()}
    problem = _problem(points)
    if problem:
        table.mistake("prototypes", problem)
        return None
    return Nearest(tuple(points), tuple(point for point in points.values() if point is not None))


def _problem(points: dict[str, Point | None]) -> str:
    """Return what is wrong with vectors, of which mistaken ones are None; empty if nothing is."""
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
        return f"hold {numbers} numbers; at most {MAX_COORDINATES} can be searched in time"
    if len(set(points.values())) < len(points):
        return "must not hold a vector twice: its second label would never be reported"
    return ""


def _point(vector: Any) -> Point | None:  # noqa: ANN401 what TOML holds
    if not isinstance(vector, str) or not _VECTOR.fullmatch(vector):
        return None
    try:
        return point_of([float(number) for number in vector.split()])
    except DomainError:
        return None
