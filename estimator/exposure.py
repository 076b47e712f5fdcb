"""What a device reveals at most: in a window, a month, a year and its life.

Two figures for permanent answers: two histories of any kind are told apart by all reports; two that change at the same
times, by the permanent answers that differ. Sums are exact integers, bounded by the ceilings as the ledger keeps them;
an answer that is charged once for good (``protects = "pattern"``) has no ceiling on its reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

from client_sdk.spec import Metric, Registry
from client_sdk.spec.budget import ATTOS
from client_sdk.spec.epsilon import as_float
from client_sdk.spec.metric import Protects
from estimator.accounting import Loss, bounded_epsilon, composed_epsilon
from estimator.horizon import Counted, Horizon, ceiling, counted
from estimator.losses import loss_of

MOST_COMPOSED = 10**6
"""Reports of one loss whose distribution is added up; more of them are bounded by moments."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """The worst case of a device over a horizon; none stands for no bound at all.

    Attributes:
        horizon: how long.
        any_nanos: epsilon of any two histories, in billionths.
        pattern_nanos: epsilon of two histories that change at the same times; the same, where no answer is permanent.
        tight: epsilon of any two histories at ``delta``; never more than by plain addition.
        delta: at which.

    """

    horizon: Horizon
    any_nanos: int | None
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
    made, most = counted(registry, horizon, today), ceiling(registry, horizon, today)
    charged = [one for one in made if one.metric.protects is not Protects.PATTERN]
    free = [one for one in made if one.metric.protects is Protects.PATTERN]
    any_nanos = min(most, sum(one.any_nanos for one in charged)) + sum(one.any_nanos for one in free)
    pattern = min(most, sum(one.pattern_nanos for one in charged)) + sum(one.pattern_nanos for one in free)
    pattern = min(pattern, any_nanos, registry.budget.lifetime_nanos)  # permanent answers are charged, too: once
    tight = _tight(charged, free, most, delta - _gaussian(registry, charged))
    bounds = [bound for bound in (tight, _epsilon(any_nanos)) if bound is not None and math.isfinite(bound)]
    return Exposure(horizon, _whole(any_nanos), _whole(pattern), min(bounds, default=None), delta)


def _tight(charged: list[Counted], free: list[Counted], most: int, delta: float) -> float | None:
    """Return the least epsilon that is known to hold at a delta, by what is charged and what is not."""
    if delta <= 0 or any(one.reports is None for one in free):
        return None
    reports, besides = _by_loss(charged), _by_loss(free)
    charges = {_pure(one.metric): one.metric.charge_nanos for one in charged}
    bounds = [bounded_epsilon(reports, charges, most, besides, delta)]
    if len(reports) == 1 and not free:
        reports = {loss: min(number, most // charges[loss]) for loss, number in reports.items()}
    together = {loss: reports.get(loss, 0) + besides.get(loss, 0) for loss in (*reports, *besides)}
    if max(together.values(), default=0) <= MOST_COMPOSED:
        bounds.append(composed_epsilon({loss: int(number) for loss, number in together.items()}, delta))
    return min(bounds)


def _by_loss(made: list[Counted]) -> dict[Loss, float]:
    found: dict[Loss, float] = {}
    for one in made:
        loss = _pure(one.metric)
        found[loss] = found.get(loss, 0) + (math.inf if one.reports is None else one.reports)
    return found


def _pure(metric: Metric) -> Loss:
    """Return its loss without its delta, which is added up once for all."""
    return loss_of(metric.channel)._replace(delta=0.0)


def _gaussian(registry: Registry, charged: list[Counted]) -> float:
    """Return the deltas of all reports together, bounded by the ceiling of the ledger."""
    summed = sum(
        float(one.metric.delta) * (math.inf if one.reports is None else one.reports)
        for one in charged
        if one.metric.delta
    )
    return min(summed, registry.budget.lifetime_attos / ATTOS)


def _epsilon(nanos: float) -> float | None:
    return as_float(int(nanos)) if math.isfinite(nanos) else None


def _whole(nanos: float) -> int | None:
    return int(nanos) if math.isfinite(nanos) else None
