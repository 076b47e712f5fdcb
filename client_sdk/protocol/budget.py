"""The ceilings on a device's privacy loss, and the rule that selects each window's metrics."""

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from client_sdk.protocol.window import WindowKind

ATTOS = 10**18
"""The number of units into which a delta of 1 is divided. Deltas are rounded up to whole units, so
that sums are exact."""


class Strategy(StrEnum):
    """The rule that selects a device's metrics in a window, independently of the answers."""

    SPLIT = "split"
    """The device answers every metric in every window."""

    SAMPLE = "sample"
    """The device answers a few random metrics in each window, each at its full epsilon."""

    PACE = "pace"
    """The device answers every metric, but only in a few random windows. The lifetime budget then
    lasts until the last metric expires."""


class Cost(NamedTuple):
    """The charge for one report: ``nanos`` / 10**9 of epsilon, and ``attos`` / 10**18 of delta."""

    nanos: int
    attos: int = 0


class Spent(NamedTuple):
    """The sums of a device's charges: in the current window, in the current month, and in total."""

    window_nanos: int = 0
    month_nanos: int = 0
    life_nanos: int = 0
    life_attos: int = 0


class Ceiling(StrEnum):
    """A ceiling on a device's charges. The values are keys in the registry's table ``[budget]``."""

    PER_WINDOW = "per_window"
    PER_MONTH = "per_month"
    LIFETIME = "lifetime"
    DELTA = "delta"


class Budget(NamedTuple):
    """The ceilings and the strategy of a registry. Epsilons are in billionths, rounded down.

    Attributes:
        window: the period to which the ceiling ``per_window`` applies; also the default window of a
            metric.
        per_window_nanos: the maximum total cost of a device's reports within one period of the
            length `window`.
        lifetime_nanos: the maximum total cost of all reports of a device.
        per_month_nanos: the maximum total cost of a device's reports within a calendar month (UTC);
            None if there is no monthly ceiling.
        lifetime_attos: the maximum sum of the deltas of all reports of a device, in units of
            10**-18.
        strategy: the rule that selects the metrics of a window.
        answers: the number of metrics that the strategy draws at random per window; None if the
            strategy draws no metrics.
        web_year_nanos: the app's limit on epsilon per year, for browsers that repeatedly delete
            their storage; None if the app is not for browsers.
        accept: the registry's reason for exceeding the limits in `registry.limits`; empty if the
            registry gives none.
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
        """Whether a browser may delete its storage. If so, only `per_window_nanos` is reliable."""
        return self.web_year_nanos is not None

    @property
    def ceilings(self) -> dict[Ceiling, int]:
        """The ceilings that are set, in billionths of epsilon or in units of 10**-18 of delta."""
        month = {} if self.per_month_nanos is None else {Ceiling.PER_MONTH: self.per_month_nanos}
        window, life = {Ceiling.PER_WINDOW: self.per_window_nanos}, {Ceiling.LIFETIME: self.lifetime_nanos}
        return window | month | life | {Ceiling.DELTA: self.lifetime_attos}

    @property
    def least_ceiling_nanos(self) -> int:
        """The lowest ceiling on epsilon, in billionths. No report may cost more."""
        return min(most for ceiling, most in self.ceilings.items() if ceiling is not Ceiling.DELTA)

    def exceeded(self, spent: Spent, cost: Cost) -> list[Ceiling]:
        """Return the ceilings that a report of this cost would exceed.

        ``spent`` contains the sums of all earlier charges.
        """
        totals = {
            Ceiling.PER_WINDOW: spent.window_nanos + cost.nanos,
            Ceiling.PER_MONTH: spent.month_nanos + cost.nanos,
            Ceiling.LIFETIME: spent.life_nanos + cost.nanos,
            Ceiling.DELTA: spent.life_attos + cost.attos,
        }
        return [ceiling for ceiling, most in self.ceilings.items() if totals[ceiling] > most]


def attos_ceiling(delta: Fraction) -> int:
    """Return the charge for a delta, in units of 10**-18, rounded up."""
    return -(-delta * ATTOS // 1)
