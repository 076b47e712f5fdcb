"""A device's maximum number of reports and maximum privacy loss within a period.

Several functions take the current day, ``today``. The results of these functions apply to a device
that sends no reports before that day. If ``today`` is None, the results apply to every device, no
matter when its first report is sent.

Each sum of privacy losses is an exact integer, and is limited by the ceilings in `Budget`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple, Protocol

from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.epsilon import PURE
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window, WindowKind
from client_sdk.protocol.window_steps import windows_until


class Asked(Protocol):
    """A protocol for objects that have metrics and a budget, such as a registry."""

    @property
    def budget(self) -> Budget:
        """The ceilings on privacy loss."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """A mapping from name to metric."""


class Horizon(StrEnum):
    """A period over which reports and privacy losses are added up."""

    WINDOW = "window"
    MONTH = "month"
    YEAR = "year"
    LIFE = "life"


IN_MONTH: Final = {WindowKind.DAY: 31, WindowKind.WEEK: 6, WindowKind.MONTH: 1}
"""For each kind of window, the maximum number of windows that overlap a calendar month. A month of
30 days that begins on a Sunday overlaps six weeks."""

IN_WINDOW: Final = {
    WindowKind.DAY: {WindowKind.DAY: 1, WindowKind.WEEK: 1, WindowKind.MONTH: 1},
    WindowKind.WEEK: {WindowKind.DAY: 7, WindowKind.WEEK: 1, WindowKind.MONTH: 2},
    WindowKind.MONTH: IN_MONTH,
}
"""``IN_WINDOW[a][b]`` is the maximum number of windows of length b that overlap a window of length
a. For example, a week overlaps up to 2 months."""

IN_YEAR: Final = {WindowKind.DAY: 366, WindowKind.WEEK: 54, WindowKind.MONTH: 12}
"""For each kind of window, the maximum number of windows that overlap a calendar year. A leap year
that begins on a Sunday overlaps 54 weeks."""


class MetricReports(NamedTuple):
    """A metric and the maximum number of its reports within a horizon.

    Attributes:
        metric: the definition of the metric.
        reports: the maximum number of reports; None if only ceilings limit the number.
    """

    metric: Metric
    reports: int | None

    @property
    def any_nanos(self) -> float:
        """The total epsilon of the reports, in billionths; infinite if ``reports`` is None."""
        return math.inf if self.reports is None else self.reports * self.metric.epsilon_nanos

    @property
    def chance_beyond(self) -> Fraction:
        """An upper bound on the probability that these reports reveal more than `any_nanos`."""
        return (self.reports or 0) * self.metric.channel.chance_beyond(self.metric.channel.worst_ratio)


def windows_left(metric: Metric, today: date | None) -> int | None:
    """Return the number of windows of a metric from ``today`` until the metric expires.

    Return None if the metric does not expire, or if ``today`` is None.
    """
    if metric.expires is None or today is None:
        return None
    return windows_until(Window.at(metric.window, datetime.combine(today, time(), UTC).timestamp()), metric.expires)


def costliest_reports(registry: Asked, horizon: Horizon, today: date | None = None) -> list[MetricReports]:
    """Return each metric's maximum number of reports, without regard to the ceilings.

    If a device draws n metrics per window, the result contains only the n metrics with the largest
    epsilons. No other selection of n metrics reveals more.
    """
    metrics = list(registry.metrics.values())
    if registry.budget.strategy is Strategy.SAMPLE:
        metrics.sort(key=lambda metric: metric.epsilon_nanos, reverse=True)
        metrics = metrics[: registry.budget.answers]
        left = [windows_left(metric, today) for metric in registry.metrics.values()]
        most = None if None in left else max(windows or 0 for windows in left)
        return [MetricReports(metric, _least(most, _limit(registry, metric, horizon))) for metric in metrics]
    return [MetricReports(metric, most_reports(registry, metric, horizon, today)) for metric in metrics]


def most_reports(registry: Asked, metric: Metric, horizon: Horizon, today: date | None = None) -> int | None:
    """Return the maximum number of reports of a metric; None if only ceilings limit the number."""
    return _least(windows_left(metric, today), _limit(registry, metric, horizon))


def yearly_reports(registry: Asked, metric: Metric, *, alone: bool = False) -> int:
    """Return the maximum number of a metric's reports that a device can pay for in a calendar year.

    Under `Strategy.PACE`, a device answers either all metrics of a window or none, so the
    lifetime budget is divided among all unexpired metrics. If ``alone`` is true, the result applies
    to a device that answers only this metric, for example because the user did not agree to the
    other metrics.
    """
    budget, charge = registry.budget, metric.epsilon_nanos
    bounds = [IN_YEAR[metric.window], IN_YEAR[budget.window] * (budget.per_window_nanos // charge)]
    if not budget.may_be_wiped:
        bounds.append(_paid_in_life(registry, metric, alone=alone))
        if budget.per_month_nanos is not None:
            bounds.append(12 * (budget.per_month_nanos // charge))
    return min(bounds)


def _paid_in_life(registry: Asked, metric: Metric, *, alone: bool) -> int:
    life = registry.budget.lifetime_nanos
    if not _pays_whole_windows(registry):
        return life // metric.epsilon_nanos
    together = sum(
        other.epsilon_nanos
        for other in registry.metrics.values()
        if other is metric or other.expires is None or (metric.expires is not None and other.expires >= metric.expires)
    )
    if not alone or life < together:
        return life // together
    return (life - together) // metric.epsilon_nanos + 1


def _pays_whole_windows(registry: Asked) -> bool:
    """Whether a device pays in each window either for all metrics or for no metric.

    The result is true under `Strategy.PACE`, unless a ceiling other than the lifetime ceiling could
    leave too little budget for one of the metrics.
    """
    budget, metrics = registry.budget, registry.metrics.values()
    together, month = sum(metric.epsilon_nanos for metric in metrics), budget.per_month_nanos
    return (
        budget.strategy is Strategy.PACE
        and not any(metric.delta for metric in metrics)
        and together <= budget.per_window_nanos
        and (month is None or IN_MONTH[budget.window] * together <= month)
    )


def _limit(registry: Asked, metric: Metric, horizon: Horizon) -> int | None:
    match horizon:
        case Horizon.WINDOW:
            return IN_WINDOW[registry.budget.window][metric.window]
        case Horizon.MONTH:
            return IN_MONTH[metric.window]
        case Horizon.YEAR:
            return IN_YEAR[metric.window]
    return None


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def ceiling(registry: Asked, horizon: Horizon, today: date | None = None) -> int:
    """Return the maximum sum of all charges within a horizon, in billionths of epsilon.

    If browsers may delete the ledger, which records a device's charges, only the ceiling per window
    is reliable. A new ledger allows no reports in the window of its creation. Therefore deleting a
    ledger does not renew the budget of this window. The sums for a month and a year assume that the
    ledger is deleted repeatedly. The sum for a lifetime applies to a single ledger.
    """
    budget = registry.budget
    most = sum(
        each.reports * each.metric.epsilon_nanos
        for each in costliest_reports(registry, Horizon.WINDOW, today)
        if each.reports
    )
    window = min(budget.per_window_nanos, most, budget.least_ceiling_nanos)
    month, year = IN_MONTH[budget.window] * window, IN_YEAR[budget.window] * window
    if not budget.may_be_wiped:
        month = min(month, budget.lifetime_nanos)
        month = month if budget.per_month_nanos is None else min(month, budget.per_month_nanos)
        year = min(year, 12 * month, budget.lifetime_nanos)
    return {
        Horizon.WINDOW: window,
        Horizon.MONTH: month,
        Horizon.YEAR: year,
        Horizon.LIFE: budget.lifetime_nanos,
    }[horizon]


def most_nanos(registry: Asked, horizon: Horizon, today: date | None = None) -> int:
    """Return the maximum epsilon of a device's reports in a horizon, in billionths."""
    together = sum(each.any_nanos for each in costliest_reports(registry, horizon, today))
    return int(min(ceiling(registry, horizon, today), together))


def chance_beyond(registry: Asked, horizon: Horizon, today: date | None = None) -> Fraction:
    """Return a bound on the probability that a horizon's reports reveal more than `most_nanos`.

    The bound adds up, over all reports, the probability that a report reveals more than its charge.
    The bound is 0 if no metric has a delta, and may be above 1.
    """
    return sum(
        (
            MetricReports(metric, paid_reports(registry, metric, horizon, today)).chance_beyond
            for metric in registry.metrics.values()
            if metric.delta
        ),
        PURE,
    )


def paid_reports(registry: Asked, metric: Metric, horizon: Horizon, today: date | None = None) -> int:
    """Return the maximum number of a metric's reports that the ceilings on epsilon allow."""
    paid = ceiling(registry, horizon, today) // metric.epsilon_nanos
    reports = most_reports(registry, metric, horizon, today)
    return paid if reports is None else min(paid, reports)
