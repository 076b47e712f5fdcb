"""The wait before another attempt: exponential back-off with full jitter."""

from __future__ import annotations

from collections.abc import Callable
from os import urandom

BACKOFF_BASE_S = 1.0
"""The maximum random delay before the first retry, in seconds. The delay is short, because most
failures are lost packets or server restarts."""

BACKOFF_CEILING_S = 3600.0
"""The maximum back-off, in seconds. Each upload has its own back-off. At the maximum, an upload is
tried twice an hour on average. A million devices with one failing upload each then make a few
hundred requests a second."""

Uniform = Callable[[float, float], float]
"""A source of random delays: ``uniform(a, b)`` returns a random float from a to b."""


def jitter(low: float, high: float) -> float:
    """Return a float from low to high, drawn with the operating system's randomness."""
    return low + (high - low) * int.from_bytes(urandom(6), "big") / 2**48


def next_delay_s(failures: int, least_s: float, uniform: Uniform) -> float:
    """Return the seconds to wait after a failed attempt that followed ``failures`` other failures.

    The result is the delay that the server has requested (``least_s``) plus a random delay. Because
    of the random delay, devices whose attempts failed at the same time do not retry at the same
    time (Brooker 2015, "Exponential backoff and jitter").
    """
    doublings = min(failures, 32)  # beyond 32 the ceiling applies, and 2.0**failures would overflow
    return least_s + uniform(0.0, min(BACKOFF_CEILING_S, BACKOFF_BASE_S * 2.0**doublings))
