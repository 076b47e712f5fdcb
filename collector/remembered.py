"""A verdict as the store remembers it: one byte for the number of reports, three for each run of equal refusals.

The meaning of a byte never changes: a verdict that is remembered by one version is read by the next.
"""

from __future__ import annotations

from itertools import chain, pairwise

from client_sdk.spec import Refusal, Verdict

REFUSAL_BYTES = {
    Refusal.UNKNOWN_METRIC: 1,
    Refusal.UNKNOWN_EDITION: 2,
    Refusal.WRONG_WINDOW: 3,
    Refusal.WINDOW_IN_FUTURE: 4,
    Refusal.WINDOW_CLOSED: 5,
    Refusal.METRIC_EXPIRED: 6,
    Refusal.SYMBOL_OUT_OF_RANGE: 7,
}

_REFUSALS = {byte: refusal for refusal, byte in REFUSAL_BYTES.items()}

RUN_BYTES = 3
"""A run's first index, its last index, and the byte of its refusal."""


def pack(reports: int, refused: tuple[tuple[int, Refusal], ...]) -> bytes:
    """Return the bytes of a verdict on 1 to 256 reports, refusals by rising index."""
    if not refused:
        return bytes((reports - 1,))
    breaks = [
        position
        for position, ((before, one), (after, other)) in enumerate(pairwise(refused), 1)
        if after != before + 1 or one is not other
    ]
    runs = [refused[start:end] for start, end in pairwise((0, *breaks, len(refused)))]
    return bytes((reports - 1, *chain.from_iterable((run[0][0], run[-1][0], REFUSAL_BYTES[run[0][1]]) for run in runs)))


def unpack(packed: bytes) -> Verdict:
    """Return the verdict; runs that the store added itself stand last and are sorted in."""
    if len(packed) == 1:
        return Verdict(packed[0] + 1)
    runs = zip(packed[1::RUN_BYTES], packed[2::RUN_BYTES], packed[3::RUN_BYTES], strict=True)
    refused = ((index, _REFUSALS[byte]) for first, last, byte in runs for index in range(first, last + 1))
    return Verdict(packed[0] + 1, tuple(sorted(refused)))
