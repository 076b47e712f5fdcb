"""The bytes that the store remembers of an upload: which of its reports were counted.

Why the others were refused is judged again, so it takes at most MOST_BYTES, whatever an upload
holds, and one byte if all of its reports were counted. The meaning of a byte never changes: the
next version reads what this one has written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from client_sdk.protocol.wire.refusal import Refusal
from client_sdk.protocol.wire.report import MAX_REPORTS

REFUSAL_BYTES = {
    Refusal.UNKNOWN_METRIC: 1,
    Refusal.UNKNOWN_EDITION: 2,
    Refusal.WRONG_WINDOW: 3,
    Refusal.WINDOW_IN_FUTURE: 4,
    Refusal.WINDOW_CLOSED: 5,
    Refusal.METRIC_EXPIRED: 6,
    Refusal.SYMBOL_OUT_OF_RANGE: 7,
}
"""The bytes of refusals in schema 1."""

RUN_BYTES = 3
"""Bytes that schema 1 kept of a run of equal refusals.

They are its first index, its last index and the byte of the refusal.
"""

BITMAP_BYTES = MAX_REPORTS // 8

MOST_BYTES = 1 + BITMAP_BYTES
"""Less than 64 bytes together with the id.

Beyond that, a bucket would cost four times as much (see count_script).
"""

UNKNOWN = "nothing that a store remembers of an upload"


class Remembered(NamedTuple):
    """The memory of an upload with a counted report.

    Attributes:
        reports: how many reports it had.
        counted: indexes of the reports that were counted.

    """

    reports: int
    counted: Collection[int]


def pack(reports: int, counted: Sequence[int]) -> bytes:
    """Return the bytes for an upload.

    The first byte is the number of reports, minus one. Nothing follows if all were counted.
    Otherwise the indexes of the counted reports follow, or a bitmap of them, whichever is shorter.

    Args:
        reports: the number of reports in the upload, from 1 to 256.
        counted: indexes of the reports that were counted, rising; at least one.

    """
    head = bytes((reports - 1,))
    if len(counted) == reports:
        return head
    if len(counted) >= BITMAP_BYTES:
        return head + sum(1 << index for index in counted).to_bytes(BITMAP_BYTES, "little")
    # The length of a list distinguishes it from the runs of schema 1: a list that would have the
    # length of a run has its last index twice.
    listed = counted if len(counted) % RUN_BYTES else (*counted, counted[-1])
    return head + bytes(listed)


def unpack(packed: bytes) -> Remembered:
    """Read bytes from `pack` or from schema 1.

    Raises:
        ValueError: if they are neither.

    """
    reports, rest = packed[0] + 1, packed[1:]
    return Remembered(reports, _counted(reports, rest) if rest else range(reports))


def _counted(reports: int, rest: bytes) -> frozenset[int]:
    if len(rest) % RUN_BYTES == 0:
        counted = frozenset(range(reports)) - _refused_of_schema_1(rest)
    elif len(rest) == BITMAP_BYTES:
        bits = int.from_bytes(rest, "little")
        counted = frozenset(index for index in range(MAX_REPORTS) if bits >> index & 1)
    elif len(rest) < BITMAP_BYTES:
        counted = frozenset(rest)
    else:
        raise ValueError(UNKNOWN)
    if max(counted, default=0) >= reports:
        raise ValueError(UNKNOWN)
    return counted


def _refused_of_schema_1(runs: bytes) -> frozenset[int]:
    if not set(runs[2::RUN_BYTES]) <= set(REFUSAL_BYTES.values()):
        raise ValueError(UNKNOWN)
    spans = zip(runs[::RUN_BYTES], runs[1::RUN_BYTES], strict=True)
    return frozenset(index for first, last in spans for index in range(first, last + 1))
