"""An alert, and what came of it in a window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from estimator.results.record import Record


class Operator(StrEnum):
    """How a figure is compared with a bound."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class Alert:
    """A bound on one figure of a metric.

    Attributes:
        metric: its name.
        figure: as it was written, such as ``mean`` or ``share[dark]``.
        statistic: ``mean``, ``sum``, ``group_mean``, ``share`` or ``quantile``.
        position: of the value among all shares, of the group among all groups, or of the quantile
            among all quantiles; otherwise 0.
        operator: how the figure is compared.
        bound: the number that it is compared with, finite.

    """

    metric: str
    figure: str
    statistic: str
    position: int
    operator: Operator
    bound: float


class JudgedAlert(Record, frozen=True):
    """What came of an alert in one window: a line of JSON.

    Attributes:
        metric: its name.
        window: the name of the window.
        figure: as it was written.
        operator: how the figure is compared.
        bound: the number that it is compared with.
        estimate: of the figure; unbiased, or of a quantile smoothed. None without reports.
        low: the lower end of the figure's interval. None for a sum, or the mean of a group, without
            reports.
        high: the upper end, likewise.
        reports: of the window.
        fired: whether the whole interval is beyond the bound, by enough reports.

    """

    metric: str
    window: str
    figure: str
    operator: str
    bound: float
    estimate: float | None
    low: float | None
    high: float | None
    reports: int
    fired: bool
