"""Uploads that gather to leave together. Pure: instants and randomness are arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS

Waiter = TypeVar("Waiter")
"""What waits for the answer to an upload."""

Permute = Callable[[int], list[int]]
"""A source of random permutations of 0 to n-1."""

SHORTEST = 0.5
"""The shortest random time for which a batch gathers, as a part of the longest.

Short times would mix nothing.
"""


class HeldUpload(NamedTuple, Generic[Waiter]):
    """An upload of a batch.

    Attributes:
        upload: the upload's id.
        body: the encoded upload, in one line.
        waiters: what waits for its answer; more than one if a device sent the upload again
            meanwhile.

    """

    upload: str
    body: bytes
    waiters: list[Waiter]


@dataclass
class Batch(Generic[Waiter]):
    """Uploads that gather."""

    _uploads: dict[str, HeldUpload[Waiter]] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, upload: str, body: bytes, waiter: Waiter) -> bool:
        """Add an upload, or only a waiter if its id is in the batch already.

        Returns False if there is no room.

        If two bodies have one id, the first is sent: the collector would count the first, too.
        """
        if upload in self._uploads:
            self._uploads[upload].waiters.append(waiter)
            return True
        size = self._bytes + len(body) + 1
        if size > MAX_BULK_BYTES or len(self._uploads) == MAX_BULK_UPLOADS:
            return False
        self._uploads[upload] = HeldUpload(upload, body, [waiter])
        self._bytes = size
        return True

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another upload, however small."""
        return len(self._uploads) == MAX_BULK_UPLOADS

    def permuted(self, permute: Permute) -> list[HeldUpload[Waiter]]:
        """Return the uploads in a random order, which reveals nothing about when they came."""
        uploads = list(self._uploads.values())
        return [uploads[index] for index in permute(len(uploads))]


def gather_time_s(longest_s: float, uniform: Callable[[float, float], float]) -> float:
    """Return for how many seconds after its first upload a batch gathers, unless it fills."""
    return uniform(SHORTEST * longest_s, longest_s)
