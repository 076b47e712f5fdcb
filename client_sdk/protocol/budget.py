"""The ceilings that a device keeps, and how it spreads what they allow over its questions and its life."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from client_sdk.protocol.window import WindowKind

ATTOS = 10**18
"""Deltas are summed up in integers of one part in 10**18, each rounded up: exact sums, for ever."""


class Strategy(StrEnum):
    """Which questions a device answers in a window; none looks at an answer."""

    SPLIT = "split"
    """All of them."""

    SAMPLE = "sample"
    """A few, drawn anew for each window; each at its full epsilon."""

    PACE = "pace"
    """All of them, but only in so many windows that the lifetime ceiling lasts until the last question expires."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings in billionths of epsilon, rounded down.

    Attributes:
        window: the period that the first ceiling speaks of; also the metrics' window where they name none.
        per_window_nanos: what all reports made within one such period may cost together.
        lifetime_nanos: what all reports that a device ever makes may cost together.
        per_month_nanos: what all reports made within a calendar month (UTC) may cost together; or none.
        lifetime_attos: what the deltas of all reports may add up to, in parts of 10**18.
        strategy: which questions a device answers in a window.
        answers: how many, where they are drawn; else none.

    """

    window: WindowKind
    per_window_nanos: int
    lifetime_nanos: int
    per_month_nanos: int | None = None
    lifetime_attos: int = 0
    strategy: Strategy = Strategy.SPLIT
    answers: int | None = None

    @property
    def least_ceiling_nanos(self) -> int:
        """What a single report may cost at most."""
        ceilings = (self.per_window_nanos, self.lifetime_nanos, self.per_month_nanos)
        return min(ceiling for ceiling in ceilings if ceiling is not None)


def attos_ceiling(delta: Fraction) -> int:
    """Return a delta in parts of 10**18, rounded up: what it is charged."""
    return -(-delta * ATTOS // 1)
