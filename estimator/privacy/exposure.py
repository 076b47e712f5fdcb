"""What a device reveals at most: in a window, a month, a year and its life.

Two figures where answers are charged once for good (``protects = "pattern"``): two histories of any kind are told apart
by all reports, on which there is no ceiling; two of one pattern, whose answers are equal in the same windows, by the
permanent answers that differ. Sums are exact integers, bounded by the ceilings as the ledger keeps them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

from client_sdk.protocol import Metric, Registry
from client_sdk.protocol.budget import ATTOS
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.metric import Protects
from estimator.privacy.composition import Loss, bounded_epsilon, composed_epsilon
from estimator.privacy.horizon import Counted, Horizon, ceiling, counted, most_reports
from estimator.privacy.privacy_loss import loss_of

MOST_COMPOSED = 10**6
"""Reports of one loss whose distribution is added up; more of them are bounded by moments."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """The worst case of a device over a horizon; none stands for no bound at all.

    Attributes:
        horizon: how long.
        any_nanos: epsilon of any two histories, in billionths.
        pattern_nanos: epsilon of two histories of one pattern, where the answers of metrics that keep none may be any;
            none also where no metric keeps patterns: then nothing is claimed of them.
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
    most = ceiling(registry, horizon, today)
    possible = [Counted(metric, most_reports(registry, metric, horizon, today)) for metric in registry.metrics.values()]
    charged, free = _by_charge(possible)
    together, _ = _by_charge(counted(registry, horizon, today))
    free_nanos = sum(one.any_nanos for one in free)
    any_nanos = min(most, sum(one.any_nanos for one in together)) + free_nanos
    left = delta - _deltas(registry, charged)
    tight = math.inf if left <= 0 or math.isinf(free_nanos) else _tight(charged, together, free, most, left)
    least = min(tight, math.inf if math.isinf(any_nanos) else as_float(int(any_nanos)))
    pattern = _pattern_nanos(registry, charged, free, most)
    return Exposure(horizon, _whole(any_nanos), pattern, None if math.isinf(least) else least, delta)


def _pattern_nanos(registry: Registry, charged: list[Counted], free: list[Counted], most: int) -> int | None:
    if not any(metric.keeps_patterns for metric in registry.metrics.values()):
        return None
    kept = sum(one.pattern_nanos for one in free if one.metric.keeps_patterns)
    paid = min(min(most, sum(one.any_nanos for one in charged)) + kept, registry.budget.lifetime_nanos)
    return _whole(paid + sum(one.any_nanos for one in free if not one.metric.keeps_patterns))


def _by_charge(made: list[Counted]) -> tuple[list[Counted], list[Counted]]:
    """Return the metrics of which every report is charged, and those that are charged once for good."""
    free = [one for one in made if one.metric.protects is Protects.PATTERN]
    return [one for one in made if one not in free], free


def _tight(charged: list[Counted], together: list[Counted], free: list[Counted], most: int, delta: float) -> float:
    """Return the least epsilon that is known to hold at a delta.

    Args:
        charged: what could be reported, within the ceiling.
        together: the same, or of drawn questions the dearest; each of these counts as the worst channel of its
            epsilon, because another one that was drawn may tell more than it at a smaller epsilon.
        free: what is reported without a charge; where one permanent answer speaks for all, its epsilon is added.
        most: the ceiling, in billionths.
        delta: what is left of it for the losses.

    """
    reports, besides = _by_loss(charged), _by_loss([one for one in free if not one.speaks_once])
    spoken = as_float(int(sum(one.any_nanos for one in free if one.speaks_once)))
    charges = {_pure(one.metric): one.metric.charge_nanos for one in charged}
    bounds = [bounded_epsilon(reports, charges, most, besides, delta)]
    if len(reports) == 1 and len(together) == len(charged):
        reports = {loss: min(number, most // charges[loss]) for loss, number in reports.items()}
    elif len(together) < len(charged):
        reports = _by_loss(together, worst=True)
    composed = {loss: reports.get(loss, 0) + besides.get(loss, 0) for loss in (*reports, *besides)}
    if max(composed.values(), default=0) <= MOST_COMPOSED:
        bounds.append(composed_epsilon({loss: int(number) for loss, number in composed.items()}, delta))
    return math.nextafter(min(bounds) + spoken, math.inf) if spoken else min(bounds)


def _by_loss(made: list[Counted], *, worst: bool = False) -> dict[Loss, float]:
    found: dict[Loss, float] = {}
    for one in made:
        loss = Loss.worst(as_float(one.metric.epsilon_nanos)) if worst else _pure(one.metric)
        found[loss] = found.get(loss, 0) + (math.inf if one.reports is None else one.reports)
    return found


def _pure(metric: Metric) -> Loss:
    """Return its loss without its delta, which is added up once for all."""
    return loss_of(metric.channel)._replace(delta=0.0)


def _deltas(registry: Registry, charged: list[Counted]) -> float:
    """Return the deltas of all reports together, bounded by the ceiling of the ledger."""
    summed = sum(
        float(one.metric.delta) * (math.inf if one.reports is None else one.reports)
        for one in charged
        if one.metric.delta
    )
    return min(summed, registry.budget.lifetime_attos / ATTOS)


def _whole(nanos: float) -> int | None:
    return int(nanos) if math.isfinite(nanos) else None
