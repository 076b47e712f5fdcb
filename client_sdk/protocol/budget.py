"""The ceilings that a device keeps, and how it spreads its budget over questions and time."""

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from client_sdk.protocol.window import WindowKind

ATTOS = 10**18
"""Units per delta of 1. Deltas are rounded up to whole units, so that their sums are always
exact."""


class Strategy(StrEnum):
    """Which questions a device answers in a window; none depends on an answer."""

    SPLIT = "split"
    """All of them."""

    SAMPLE = "sample"
    """A few, drawn again for each window and answered at their full epsilon."""

    PACE = "pace"
    """All of them, but in few enough windows that the lifetime ceiling lasts until the last
    question expires."""


class Cost(NamedTuple):
    """The charge: billionths of epsilon, and units of 10**-18 of delta."""

    nanos: int
    attos: int = 0


class Spent(NamedTuple):
    """The amounts charged before, as each ceiling counts them."""

    window_nanos: int = 0
    month_nanos: int = 0
    life_nanos: int = 0
    life_attos: int = 0


class Ceiling(StrEnum):
    """A key of ``[budget]`` that limits charges."""

    PER_WINDOW = "per_window"
    PER_MONTH = "per_month"
    LIFETIME = "lifetime"
    DELTA = "delta"


class Budget(NamedTuple):
    """Ceilings in billionths of epsilon, rounded down.

    Attributes:
        window: the period of the first ceiling; also the window of metrics that name none.
        per_window_nanos: the maximum total cost of all reports made within one such period.
        lifetime_nanos: the maximum total cost of all reports of a device.
        per_month_nanos: the maximum total cost of all reports made within a calendar month (UTC);
            None if there is no such ceiling.
        lifetime_attos: the maximum sum of the deltas of all reports, in units of 10**-18.
        strategy: which questions a device answers in a window.
        answers: how many questions are drawn per window; None if none are drawn.
        web_year_nanos: the maximum that the app states for a year in a browser that wipes its
            storage repeatedly; None if the app is not for browsers.
        accept: why the registry may reveal more than the limits of `registry.limits`; empty if no
            reason is given.

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
        """Whether a browser may delete the ledger: then no limit outlasts a window."""
        return self.web_year_nanos is not None

    @property
    def ceilings(self) -> dict[Ceiling, int]:
        """The existing ceilings, in billionths of epsilon or units of delta."""
        month = {} if self.per_month_nanos is None else {Ceiling.PER_MONTH: self.per_month_nanos}
        window, life = {Ceiling.PER_WINDOW: self.per_window_nanos}, {Ceiling.LIFETIME: self.lifetime_nanos}
        return window | month | life | {Ceiling.DELTA: self.lifetime_attos}

    @property
    def least_ceiling_nanos(self) -> int:
        """The maximum cost of a single report."""
        return min(most for ceiling, most in self.ceilings.items() if ceiling is not Ceiling.DELTA)

    def exceeded(self, spent: Spent, cost: Cost) -> list[Ceiling]:
        """Return the ceilings that a cost exceeds after earlier spending; none if it is allowed."""
        totals = {
            Ceiling.PER_WINDOW: spent.window_nanos + cost.nanos,
            Ceiling.PER_MONTH: spent.month_nanos + cost.nanos,
            Ceiling.LIFETIME: spent.life_nanos + cost.nanos,
            Ceiling.DELTA: spent.life_attos + cost.attos,
        }
        return [ceiling for ceiling, most in self.ceilings.items() if totals[ceiling] > most]


def attos_ceiling(delta: Fraction) -> int:
    """Return a delta in units of 10**-18, rounded up: the charge for a report."""
    return -(-delta * ATTOS // 1)
