"""The most a device reveals in a window, a month, a year and its life.

There are two figures if answers are charged once for good (``protects = "pattern"``). Two histories
of any kind are separated by all reports, which have no ceiling. Two histories of one pattern, with
equal answers in the same windows, are separated by the permanent answers that differ. Sums are
exact integers, bounded by the ceilings as the ledger keeps them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from client_sdk.protocol.budget import ATTOS
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from client_sdk.protocol.horizon import (
    Horizon,
    MetricReports,
    by_charge,
    ceiling,
    dearest_reports,
    most_nanos,
    most_reports,
    paid_reports,
    whole,
)
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.privacy.composition import PrivacyLoss, bounded_epsilon, composed_epsilon
from estimator.privacy.privacy_loss import loss_of

MOST_COMPOSED = 10**6
"""Up to this number of reports of one loss its distribution is added up; more are bounded by
moments.
"""


@dataclass(frozen=True, slots=True)
class Exposure:
    """The worst case of a device over a horizon. None stands for the absence of any bound.

    Attributes:
        horizon: the period.
        any_nanos: epsilon of any two histories, in billionths.
        own_delta: the delta at which ``any_nanos`` and ``pattern_nanos`` hold: that of all reports
            together, rounded up; 0 if no question has a delta.
        pattern_nanos: epsilon of two histories of one pattern, while the answers of metrics that
            keep no patterns may be any. Also None if no metric keeps patterns: then nothing is
            claimed for them.
        tight: epsilon of any two histories at ``delta``; never more than by plain addition. None if
            ``own_delta`` is more than ``delta``.
        delta: of ``tight``.

    """

    horizon: Horizon
    any_nanos: int | None
    own_delta: float
    pattern_nanos: int | None
    tight: float | None
    delta: float


def exposures(registry: Registry, today: date, delta: float) -> tuple[Exposure, ...]:
    """Return the worst case of a device that begins today, for every horizon.

    Args:
        registry: the questions and the ceilings.
        today: the first day on which the device reports.
        delta: of the tight figures.

    """
    return tuple(_exposure(registry, horizon, today, delta) for horizon in Horizon)


def _exposure(registry: Registry, horizon: Horizon, today: date, delta: float) -> Exposure:
    most = ceiling(registry, horizon, today)
    possible = [
        MetricReports(metric, most_reports(registry, metric, horizon, today)) for metric in registry.metrics.values()
    ]
    charged, free = by_charge(possible)
    together, _ = by_charge(dearest_reports(registry, horizon, today))
    free_nanos = sum(question.any_nanos for question in free)
    any_nanos = most_nanos(registry, horizon, today)
    own = own_delta(registry, horizon, today)
    left = -float_ceiling(own - Fraction(delta))
    tight = math.inf if left <= 0 or math.isinf(free_nanos) else _tight(charged, together, free, most, left)
    least = min(tight, math.inf if any_nanos is None or left < 0 else as_float(any_nanos))
    pattern = _pattern_nanos(registry, charged, free, most)
    return Exposure(horizon, any_nanos, float_ceiling(own), pattern, None if math.isinf(least) else least, delta)


def own_delta(registry: Registry, horizon: Horizon, today: date) -> Fraction:
    """Return the most that the deltas of all reports in a horizon add up to.

    The ceiling of the ledger bounds them, but not over several windows of a browser that wipes it.
    """
    budget = registry.budget
    attos = sum(
        paid_reports(registry, metric, horizon, today) * metric.cost.attos
        for metric in registry.metrics.values()
        if metric.delta
    )
    outlived = budget.may_be_wiped and horizon in {Horizon.MONTH, Horizon.YEAR}
    return Fraction(attos if outlived else min(attos, budget.lifetime_attos), ATTOS)


def _pattern_nanos(
    registry: Registry, charged: list[MetricReports], free: list[MetricReports], most: int
) -> int | None:
    if not any(metric.keeps_patterns for metric in registry.metrics.values()):
        return None
    kept = sum(question.pattern_nanos for question in free if question.metric.keeps_patterns)
    paid = min(min(most, sum(question.any_nanos for question in charged)) + kept, registry.budget.lifetime_nanos)
    return whole(paid + sum(question.any_nanos for question in free if not question.metric.keeps_patterns))


def _tight(
    charged: list[MetricReports], together: list[MetricReports], free: list[MetricReports], most: int, delta: float
) -> float:
    """Return the least epsilon that is known to hold at a delta.

    Args:
        charged: the possible reports, within the ceiling.
        together: the same; of drawn questions, those of the largest epsilon. Each of these counts
            as the worst channel of its epsilon, because another drawn question may reveal more at a
            smaller epsilon.
        free: reports without a charge. If one permanent answer speaks for all, its epsilon is
            added.
        most: the ceiling, in billionths.
        delta: what remains of it for the losses.

    """
    reports, besides = _by_loss(charged), _by_loss([question for question in free if not question.speaks_once])
    spoken = as_float(int(sum(question.any_nanos for question in free if question.speaks_once)))
    charges = {_pure(question.metric): question.metric.charge_nanos for question in charged}
    bounds = [bounded_epsilon(reports, charges, most, besides, delta)]
    if len(reports) == 1 and len(together) == len(charged):
        reports = {loss: min(number, most // charges[loss]) for loss, number in reports.items()}
    elif len(together) < len(charged):
        reports = _by_loss(together, worst=True)
    composed = {loss: reports.get(loss, 0) + besides.get(loss, 0) for loss in (*reports, *besides)}
    if max(composed.values(), default=0) <= MOST_COMPOSED:
        bounds.append(composed_epsilon({loss: int(number) for loss, number in composed.items()}, delta))
    return math.nextafter(min(bounds) + spoken, math.inf) if spoken else min(bounds)


def _by_loss(reports: list[MetricReports], *, worst: bool = False) -> dict[PrivacyLoss, float]:
    of_losses: dict[PrivacyLoss, float] = {}
    for question in reports:
        loss = PrivacyLoss.worst(as_float(question.metric.epsilon_nanos)) if worst else _pure(question.metric)
        of_losses[loss] = of_losses.get(loss, 0) + (math.inf if question.reports is None else question.reports)
    return of_losses


def _pure(metric: Metric) -> PrivacyLoss:
    """Return the loss without its delta; deltas are added up separately."""
    return loss_of(metric.channel)._replace(delta=0.0)
