"""The bytes that the store remembers of an upload: which of its reports were counted.

Why the others were refused is judged again, so it takes at most MOST_BYTES, whatever an upload
holds, and one byte if all of its reports were counted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from client_sdk.protocol.wire.report import MAX_REPORTS

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
    return head + bytes(counted)


def unpack(packed: bytes) -> Remembered:
    """Read bytes from `pack`.

    Raises:
        ValueError: if they are not.

    """
    reports, rest = packed[0] + 1, packed[1:]
    return Remembered(reports, _counted(reports, rest) if rest else range(reports))


def _counted(reports: int, rest: bytes) -> frozenset[int]:
    if len(rest) == BITMAP_BYTES:
        bits = int.from_bytes(rest, "little")
        counted = frozenset(index for index in range(MAX_REPORTS) if bits >> index & 1)
    elif len(rest) < BITMAP_BYTES:
        counted = frozenset(rest)
    else:
        raise ValueError(UNKNOWN)
    if max(counted, default=0) >= reports:
        raise ValueError(UNKNOWN)
    return counted
