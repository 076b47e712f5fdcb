"""A verdict as the store remembers it: one byte for the number of reports, two for each refusal.

The meaning of a byte never changes: a verdict that is remembered by one version is read by the next.
"""

from __future__ import annotations

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


def pack(reports: int, refused: tuple[tuple[int, Refusal], ...]) -> bytes:
    """Return the bytes of a verdict on 1 to 256 reports."""
    pairs = (byte for index, refusal in refused for byte in (index, REFUSAL_BYTES[refusal]))
    return bytes((reports - 1, *pairs))


def unpack(packed: bytes) -> Verdict:
    """Return the verdict; refusals that the store added itself stand last and are sorted in."""
    if len(packed) == 1:
        return Verdict(packed[0] + 1)
    refused = sorted(zip(packed[1::2], packed[2::2], strict=True))
    return Verdict(packed[0] + 1, tuple((index, _REFUSALS[byte]) for index, byte in refused))
