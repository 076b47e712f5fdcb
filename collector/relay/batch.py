"""Uploads that wait to leave together. Pure: instants and randomness are arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS

Waiter = TypeVar("Waiter")
"""Whoever waits for the answer to an upload."""

Permute = Callable[[int], list[int]]
"""A source of random permutations of 0 to n-1."""

SHORTEST = 0.5
"""A batch gathers for a random time from this part of the longest to all of it: never so short that nothing mixes."""


class Line(NamedTuple, Generic[Waiter]):
    """An upload of a batch.

    Attributes:
        upload: its id.
        body: what is sent.
        waiters: who waits for its answer: several where a device sent it again in the meantime.

    """

    upload: str
    body: bytes
    waiters: list[Waiter]


@dataclass
class Batch(Generic[Waiter]):
    """Uploads that gather."""

    _lines: dict[str, Line[Waiter]] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, upload: str, body: bytes, waiter: Waiter) -> bool:
        """Add an upload, or a waiter where its id is in the batch already; return false if there is no room for it.

        An id names one upload: of two bodies the first is sent, as the collector would count the first.
        """
        if upload in self._lines:
            self._lines[upload].waiters.append(waiter)
            return True
        size = self._bytes + len(body) + 1
        if size > MAX_BULK_BYTES or len(self._lines) == MAX_BULK_UPLOADS:
            return False
        self._lines[upload] = Line(upload, body, [waiter])
        self._bytes = size
        return True

    @property
    def is_full(self) -> bool:
        """Whether no further upload fits in, however small."""
        return len(self._lines) == MAX_BULK_UPLOADS

    def permuted(self, permute: Permute) -> list[Line[Waiter]]:
        """Return the lines in a random order: theirs tells nothing of when they came."""
        lines = list(self._lines.values())
        return [lines[place] for place in permute(len(lines))]


def gather_time_s(longest_s: float, uniform: Callable[[float, float], float]) -> float:
    """Return for how many seconds a batch gathers, from its first upload on, unless it is full before."""
    return uniform(SHORTEST * longest_s, longest_s)
