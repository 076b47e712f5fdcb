"""How long to wait before an upload is sent again: exponential back-off with full jitter."""

from __future__ import annotations

from collections.abc import Callable

BACKOFF_BASE_S = 1.0
"""The first retry comes within a second: most failures are a lost packet or a restart."""

BACKOFF_CEILING_S = 3600.0
"""An hour: a million devices that come back at random within it are three hundred a second. Each upload has a back-off
of its own, so that a device whose four uploads of four days fail asks eight times an hour."""

Uniform = Callable[[float, float], float]
"""Where jitter comes from: a random float between two others."""


def next_delay_s(failures: int, least_s: float, uniform: Uniform) -> float:
    """Return the seconds to wait after so many failures in a row: full jitter on top of what the server asked for.

    Full jitter spreads devices that failed together (Brooker 2015, "Exponential backoff and jitter").
    """
    doublings = min(failures, 32)  # beyond it the ceiling holds, and 2.0**failures would overflow one day
    return least_s + uniform(0.0, min(BACKOFF_CEILING_S, BACKOFF_BASE_S * 2.0**doublings))
