"""How often a device may report within a window, a month, a year and its life, and what that may be charged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Final

from client_sdk.protocol import Metric, Registry, Strategy, Window, WindowKind
from client_sdk.protocol.metric import Protects


class Horizon(StrEnum):
    """How long one looks."""

    WINDOW = "window"
    MONTH = "month"
    YEAR = "year"
    LIFE = "life"


IN_MONTH: Final = {WindowKind.DAY: 31, WindowKind.WEEK: 6, WindowKind.MONTH: 1}
"""Windows that a calendar month may touch: one that begins on a Sunday and has 30 days or more touches six weeks."""

IN_YEAR: Final = {WindowKind.DAY: 366, WindowKind.WEEK: 54, WindowKind.MONTH: 12}
"""Windows that a calendar year may touch: a leap year that begins on a Sunday touches 54 weeks."""

IN_WINDOW: Final = {
    WindowKind.DAY: {WindowKind.DAY: 1, WindowKind.WEEK: 1, WindowKind.MONTH: 1},
    WindowKind.WEEK: {WindowKind.DAY: 7, WindowKind.WEEK: 1, WindowKind.MONTH: 2},
    WindowKind.MONTH: IN_MONTH,
}
"""Windows of a metric that one of the budget may touch."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A metric and how often it is reported within a horizon at most; none for as often as the ceilings allow."""

    metric: Metric
    reports: int | None

    @property
    def any_nanos(self) -> float:
        """What its reports reveal of any two histories; may be infinite."""
        added = math.inf if self.reports is None else self.reports * self.metric.epsilon_nanos
        return min(added, self.metric.reserve_nanos) if self.speaks_once else added

    @property
    def pattern_nanos(self) -> float:
        """What they reveal of two histories of one pattern; as of any two, where the device keeps no patterns."""
        metric = self.metric
        if not metric.keeps_patterns:
            return self.any_nanos
        values = metric.max_values if self.reports is None else min(metric.max_values, self.reports)
        return min(self.any_nanos, values * metric.permanent_nanos)

    @property
    def speaks_once(self) -> bool:
        """Whether one permanent answer speaks for a whole history: then its epsilon bounds all reports."""
        return self.metric.protects is Protects.PATTERN and self.metric.max_values == 1


def windows_left(metric: Metric, today: date) -> int | None:
    """Return in how many windows a metric is asked from today on, or none if it does not expire."""
    if metric.expires is None:
        return None
    first = Window.of(metric.window, datetime.combine(today, time(), UTC).timestamp()).first_day
    if first > metric.expires:
        return 0
    match metric.window:
        case WindowKind.DAY:
            return (metric.expires - first).days + 1
        case WindowKind.WEEK:
            return (metric.expires - first).days // 7 + 1
        case WindowKind.MONTH:
            return 12 * (metric.expires.year - first.year) + metric.expires.month - first.month + 1


def counted(registry: Registry, horizon: Horizon, today: date) -> list[Counted]:
    """Return how often each metric is reported at most, the ceilings aside.

    Of questions that are drawn, the dearest ones stand for all: what is asked in a window tells no more than they do.
    """
    metrics = list(registry.metrics.values())
    if registry.budget.strategy is Strategy.SAMPLE:
        metrics.sort(key=lambda metric: metric.epsilon_nanos, reverse=True)
        metrics = metrics[: registry.budget.answers]
        left = [windows_left(metric, today) for metric in registry.metrics.values()]
        most = None if None in left else max(windows or 0 for windows in left)
        return [Counted(metric, _least(most, _limit(registry, metric, horizon))) for metric in metrics]
    return [Counted(metric, most_reports(registry, metric, horizon, today)) for metric in metrics]


def most_reports(registry: Registry, metric: Metric, horizon: Horizon, today: date) -> int | None:
    """Return how often a metric is reported within a horizon at most, or none if only the ceilings stop it."""
    return _least(windows_left(metric, today), _limit(registry, metric, horizon))


def _limit(registry: Registry, metric: Metric, horizon: Horizon) -> int | None:
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


def ceiling(registry: Registry, horizon: Horizon, today: date) -> int:
    """Return what all charges within a horizon add up to at most, in billionths."""
    budget = registry.budget
    most = sum(one.reports * one.metric.charge_nanos for one in counted(registry, Horizon.WINDOW, today) if one.reports)
    reserves = sum(metric.reserve_nanos for metric in registry.metrics.values())
    window = min(budget.per_window_nanos, most + reserves, budget.least_ceiling_nanos)
    month = min(IN_MONTH[budget.window] * window, budget.lifetime_nanos)
    month = month if budget.per_month_nanos is None else min(month, budget.per_month_nanos)
    return {
        Horizon.WINDOW: window,
        Horizon.MONTH: month,
        Horizon.YEAR: min(IN_YEAR[budget.window] * window, 12 * month, budget.lifetime_nanos),
        Horizon.LIFE: budget.lifetime_nanos,
    }[horizon]
