"""The most a device reveals in a window, a month, a year and its life.

Sums are exact integers, bounded by the ceilings as the ledger keeps them.

The loss of a report is that of its worst pair of answers. If every symbol separates two answers
either by the whole epsilon or not at all, the loss has three values, and the worst pair of answers
is the one with the fewest symbols in common. A report of a tree is one of a random level, and
reveals no more than if the answers were such a pair on all levels. A set or a rounded number is a
mixture of inputs, which by convexity reveals no more than its worst pair of inputs. Every other
channel is treated as the worst one of its epsilon.
"""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from typing import Annotated

from client_sdk.protocol.budget import ATTOS
from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from client_sdk.protocol.horizon import (
    Horizon,
    MetricReports,
    ceiling,
    dearest_reports,
    most_nanos,
    most_reports,
    paid_reports,
)
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.decoders.inversions import extreme_of
from estimator.privacy.composition import PrivacyLoss, bounded_epsilon, composed_epsilon
from estimator.results.record import Record, says

ROUNDED = 1 + 2.0**-48
"""A probability times this is above the exact one, whatever the rounding of floats."""


def loss_of(channel: Channel) -> PrivacyLoss:
    """Return the privacy loss of one report, whatever was reported before."""
    step = channel.last_step
    worst = PrivacyLoss.worst(as_float(epsilon_nanos(step)), float(step.delta) * ROUNDED)
    return worst._replace(extreme=min(worst.extreme, extreme_of(step) * ROUNDED))


MOST_COMPOSED = 10**6
"""Up to this number of reports of one loss its distribution is added up; more are bounded by
moments.
"""


class Exposure(Record, frozen=True):
    """The worst case of a device over a horizon."""

    within: Annotated[Horizon, says("the period.")]
    any_two_histories: Annotated[float, says("epsilon of any two histories, by addition.")]
    delta_of_any_two_histories: Annotated[
        float,
        says("the delta at which that holds: of all reports together, rounded up; 0 if no question has a delta."),
    ]
    any_two_histories_at_delta: Annotated[
        float | None,
        says(
            "epsilon of any two histories at ``delta``; never more than by addition. None if the delta of all "
            "reports together is more than ``delta``."
        ),
    ]
    delta: Annotated[float, says("of the figure before it.")]


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
    together = dearest_reports(registry, horizon, today)
    by_addition = as_float(most_nanos(registry, horizon, today))
    own = own_delta(registry, horizon, today)
    left = -float_ceiling(own - Fraction(delta))
    least = None if left < 0 else by_addition
    if least is not None and left > 0:
        least = min(least, _tight(possible, together, most, left))
    return Exposure(horizon, by_addition, float_ceiling(own), least, delta)


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


def _tight(possible: list[MetricReports], together: list[MetricReports], most: int, delta: float) -> float:
    """Return the least epsilon that is known to hold at a delta.

    Args:
        possible: the possible reports, within the ceiling.
        together: the same; of drawn questions, those of the largest epsilon. Each of these counts
            as the worst channel of its epsilon, because another drawn question may reveal more at a
            smaller epsilon.
        most: the ceiling, in billionths.
        delta: what remains of it for the losses.

    """
    reports = _by_loss(possible)
    charges = {_pure(question.metric): question.metric.epsilon_nanos for question in possible}
    bounds = [bounded_epsilon(reports, charges, most, delta)]
    if len(reports) == 1 and len(together) == len(possible):
        reports = {loss: min(number, most // charges[loss]) for loss, number in reports.items()}
    elif len(together) < len(possible):
        reports = _by_loss(together, worst=True)
    if max(reports.values(), default=0) <= MOST_COMPOSED:
        bounds.append(composed_epsilon({loss: int(number) for loss, number in reports.items()}, delta))
    return min(bounds)


def _by_loss(reports: list[MetricReports], *, worst: bool = False) -> dict[PrivacyLoss, float]:
    of_losses: dict[PrivacyLoss, float] = {}
    for question in reports:
        loss = PrivacyLoss.worst(as_float(question.metric.epsilon_nanos)) if worst else _pure(question.metric)
        of_losses[loss] = of_losses.get(loss, 0) + (math.inf if question.reports is None else question.reports)
    return of_losses


def _pure(metric: Metric) -> PrivacyLoss:
    """Return the loss without its delta; deltas are added up separately."""
    return loss_of(metric.channel)._replace(delta=0.0)
