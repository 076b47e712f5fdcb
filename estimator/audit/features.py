"""What an adversary sees of a device: the bytes that it sends, taken apart into features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.strict_json import MalformedError

Rows = NDArray[np.int64]
"""Shape (observations, features)."""

Bodies = Sequence[bytes]
"""The bodies that a device sent in one window."""


class Feature(NamedTuple):
    """Something to look at in one window.

    Attributes:
        name: what it is. It is the same in every window.
        window: the number of the window, from 0.

    """

    name: str
    window: int


Value = int | str | bytes | tuple[object, ...]

Observation = dict[Feature, Value]

MISSING = -1
"""Stands for a feature that an observation lacks. Numbers are never below 0."""


class ObservationTable(NamedTuple):
    """Observations of two answers as integers.

    Attributes:
        features: the feature of each column.
        ordered: for each column, whether its integers are the values themselves, whose order may
            mean something.
        first: the observations of one answer, shape (observations, features).
        second: as many observations of the other answer.

    """

    features: tuple[Feature, ...]
    ordered: tuple[bool, ...]
    first: Rows
    second: Rows

    def part(self, begin: int, end: int) -> ObservationTable:
        """Return the rows from ``begin`` to ``end`` of both answers."""
        return self._replace(first=self.first[begin:end], second=self.second[begin:end])

    def swapped(self) -> ObservationTable:
        """Return the same observations with the answers exchanged."""
        return self._replace(first=self.second, second=self.first)


def observe(windows: Sequence[Bodies]) -> Observation:
    """Return the features of what a device sent, window by window.

    The random id of an upload is one feature. Where a body is not the encoding of its upload, the
    whole body is a feature too.
    """
    observation: Observation = {}
    for window, bodies in enumerate(windows):
        observation.update((Feature(name, window), value) for name, value in _features(bodies))
    return observation


def _features(bodies: Bodies) -> Iterator[tuple[str, Value]]:
    yield "uploads", len(bodies)
    reported: Counter[str] = Counter()
    for number, body in enumerate(bodies):
        of = f"upload {number}"
        yield f"bytes of {of}", len(body)
        try:
            upload = read_upload(body)
        except MalformedError:
            yield f"all of {of}", body
            continue
        if upload.encode() != body:
            yield f"all of {of}", body.replace(upload.id.encode(), b"")
        yield f"id of {of}", upload.id
        yield f"order of {of}", tuple(report.metric for report in upload.reports)
        yield f"labels of {of}", tuple(sorted(report[:3] for report in upload.reports))
        for place, report in enumerate(upload.reports):
            reported[report.metric] += 1
            yield f"symbol {reported[report.metric]} of {report.metric}", report.symbol
            yield f"place of {report.metric} in {of}", place


def tabulate(first: Sequence[Observation], second: Sequence[Observation]) -> ObservationTable:
    """Return as many observations of either answer as there are of both.

    Features that never differ are left out.
    """
    n = min(len(first), len(second))
    both = [*first[:n], *second[:n]]
    columns: list[Rows] = []
    features: list[Feature] = []
    ordered: list[bool] = []
    for feature in dict.fromkeys(feature for observation in both for feature in observation):
        values = [observation.get(feature) for observation in both]
        if columns and values.count(values[0]) == len(values):
            continue
        is_ordered = all(value is None or isinstance(value, int) for value in values)
        columns.append(_plain(values) if is_ordered else _interned(values))
        features.append(feature)
        ordered.append(is_ordered)
    rows = np.column_stack(columns)
    return ObservationTable(tuple(features), tuple(ordered), rows[:n], rows[n:])


def _plain(values: Iterable[Value | None]) -> Rows:
    return np.array([MISSING if value is None else value for value in values], dtype=np.int64)


def _interned(values: Iterable[Value | None]) -> Rows:
    """Return a number for each different value. The number itself means nothing."""
    numbers: dict[Value | None, int] = {None: MISSING}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
