"""The ceilings that a device keeps, and how it spreads its budget over questions and time."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from client_sdk.protocol.window import WindowKind

ATTOS = 10**18
"""Units per delta of 1. Deltas are rounded up to whole units, so that their sums are exact for
ever."""


class Strategy(StrEnum):
    """Which questions a device answers in a window; none looks at an answer."""

    SPLIT = "split"
    """All of them."""

    SAMPLE = "sample"
    """A few, drawn again for each window and answered at their full epsilon."""

    PACE = "pace"
    """All of them, but in few enough windows that the lifetime ceiling lasts until the last
    question expires."""


class Cost(NamedTuple):
    """What is charged: billionths of epsilon, and units of 10**-18 of delta."""

    nanos: int
    attos: int = 0


class Spent(NamedTuple):
    """What was charged before, as each ceiling counts it."""

    window_nanos: int = 0
    month_nanos: int = 0
    life_nanos: int = 0
    life_attos: int = 0


class Ceiling(StrEnum):
    """A key of ``[budget]`` that limits what is charged."""

    PER_WINDOW = "per_window"
    PER_MONTH = "per_month"
    LIFETIME = "lifetime"
    DELTA = "delta"


class Budget(NamedTuple):
    """Ceilings in billionths of epsilon, rounded down.

    Attributes:
        window: the period of the first ceiling; also the window of metrics that name none.
        per_window_nanos: the most that all reports made within one such period may cost.
        lifetime_nanos: the most that all reports of a device may ever cost.
        per_month_nanos: the most that all reports made within a calendar month (UTC) may cost; None
            if there is no such ceiling.
        lifetime_attos: the most that the deltas of all reports may add up to, in units of 10**-18.
        strategy: which questions a device answers in a window.
        answers: how many questions are drawn per window; None if none are drawn.
        web_year_nanos: the most that the app states for a year in a browser that wipes its storage
            again and again; None if the app is none for browsers.
        accept: why the registry may reveal more than the limits of `registry.limits`; empty if
            nobody gives a reason.

    """

    window: WindowKind
    per_window_nanos: int
    lifetime_nanos: int
    per_month_nanos: int | None = None
    lifetime_attos: int = 0
    strategy: Strategy = Strategy.SPLIT
    answers: int | None = None
    web_year_nanos: int | None = None
    accept: str = ""

    @property
    def may_be_wiped(self) -> bool:
        """Whether a browser may delete the ledger: then nothing holds for longer than a window."""
        return self.web_year_nanos is not None

    @property
    def ceilings(self) -> dict[Ceiling, int]:
        """The ceilings that there are, in billionths of epsilon or units of delta."""
        month = {} if self.per_month_nanos is None else {Ceiling.PER_MONTH: self.per_month_nanos}
        window, life = {Ceiling.PER_WINDOW: self.per_window_nanos}, {Ceiling.LIFETIME: self.lifetime_nanos}
        return window | month | life | {Ceiling.DELTA: self.lifetime_attos}

    @property
    def least_ceiling_nanos(self) -> int:
        """The most that a single report may cost."""
        return min(most for ceiling, most in self.ceilings.items() if ceiling is not Ceiling.DELTA)

    def exceeded(self, spent: Spent, cost: Cost) -> list[Ceiling]:
        """Return the ceilings that a cost exceeds after what was spent; none if it is allowed."""
        totals = {
            Ceiling.PER_WINDOW: spent.window_nanos + cost.nanos,
            Ceiling.PER_MONTH: spent.month_nanos + cost.nanos,
            Ceiling.LIFETIME: spent.life_nanos + cost.nanos,
            Ceiling.DELTA: spent.life_attos + cost.attos,
        }
        return [ceiling for ceiling, most in self.ceilings.items() if totals[ceiling] > most]


def attos_ceiling(delta: Fraction) -> int:
    """Return a delta in units of 10**-18, rounded up: what a report is charged."""
    return -(-delta * ATTOS // 1)
