"""The most a device reveals in a window, a month, a year and its life.

Sums are exact integers, bounded by the ceilings in the same way as in the ledger.

The loss of a report is that of its worst pair of answers. If every symbol separates two answers
either by the whole epsilon or not at all, the loss has three values, and the worst pair of answers
is the one with the fewest symbols in common. A report of a tree is a report of a random level, and
reveals no more than if the answers were a worst pair on all levels. A set or a rounded number is a
mixture of inputs, which by convexity reveals no more than the worst pair of inputs. Every other
channel is treated as the worst one of its epsilon.

The worst pair of answers of a channel has a privacy loss, the logarithm of the ratio of a symbol's
probabilities. The loss of several reports is the sum of their losses, and its distribution gives
the smallest valid epsilon for every delta (Dwork & Rothblum 2016, "Concentrated differential
privacy", section 1; Koskela, Jälkö & Honkela 2020, "Computing tight differential privacy guarantees
using FFT"). For randomized response the sum is exact and the result is the optimum of Kairouz, Oh &
Viswanath 2015, "The composition theorem for differential privacy", theorem 3.3. Losses of different
sizes are placed on a common grid, and each is moved up to the next point once; the parts that are
cut off are added to delta.

If the reports are limited by a ceiling and not by the calendar, any mixture of them may have been
sent. The moments of the loss then bound it, with the costliest mixture at each order. This is a
Rényi filter (Feldman & Zrnic 2021, "Individual privacy accounting via a Rényi filter", section 4),
so it is also valid if earlier answers decide later questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Annotated, NamedTuple

import numpy as np

from client_sdk.protocol.budget import ATTOS
from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.horizon import (
    Horizon,
    MetricReports,
    ceiling,
    costliest_reports,
    most_nanos,
    most_reports,
    paid_reports,
)
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.decoders.inversions import extreme_of
from estimator.results.estimate import Record, says
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import bisected

CELLS = 2**16
"""The number of points of the grid: a hundred different losses together are moved up by less than
1/500 of the span.
"""

CUT = 2.0**-12
"""The fraction of delta that may be spent on cutting off all tails together."""

ROUNDING = 1 + 2.0**-40
"""More than the factor by which floats may have rounded a sum of losses down."""

ORDERS = 2.0 ** np.arange(-8, 16, 0.125)
"""Orders of the moments that are tried. The bound hardly changes between two neighbors."""

ROUNDED = 1 + 2.0**-48
"""A probability times this is above the exact one, despite the rounding of floats."""

MOST_COMPOSED = 10**6
"""The maximum number of reports with one loss whose distribution is computed; more are bounded by
moments.
"""


def loss_of(channel: Channel) -> PrivacyLoss:
    """Return the privacy loss of one report, regardless of earlier reports."""
    worst = PrivacyLoss.worst(as_float(epsilon_nanos(channel)), float(channel.last_step.delta) * ROUNDED)
    return worst._replace(extreme=min(worst.extreme, extreme_of(channel) * ROUNDED))


class Exposure(Record, frozen=True):
    """The worst case of a device over a horizon."""

    within: Annotated[Horizon, says("the period.")]
    any_two_histories: Annotated[float, says("the epsilon between any two histories, by addition.")]
    delta_of_any_two_histories: Annotated[
        float,
        says(
            "the delta of all reports together, at which this epsilon is valid, rounded up; 0 "
            "if no question has a delta."
        ),
    ]
    any_two_histories_at_delta: Annotated[
        float | None,
        says(
            "the epsilon between any two histories at ``delta``, at most the sum of all epsilons. "
            "None if the delta of all reports together exceeds ``delta``."
        ),
    ]
    delta: Annotated[float, says("the delta of the preceding figure.")]


def exposures(registry: Registry, today: date, delta: float) -> tuple[Exposure, ...]:
    """Return the worst case of a device that begins today, for every horizon.

    Args:
        registry: the questions and the ceilings.
        today: the first day on which the device reports.
        delta: the delta of the tight figures.

    """
    return tuple(_exposure(registry, horizon, today, delta) for horizon in Horizon)


def _exposure(registry: Registry, horizon: Horizon, today: date, delta: float) -> Exposure:
    most = ceiling(registry, horizon, today)
    possible = [
        MetricReports(metric, most_reports(registry, metric, horizon, today)) for metric in registry.metrics.values()
    ]
    together = costliest_reports(registry, horizon, today)
    by_addition = as_float(most_nanos(registry, horizon, today))
    own = own_delta(registry, horizon, today)
    left = -float_ceiling(own - Fraction(delta))
    least = None if left < 0 else by_addition
    if least is not None and left > 0:
        least = min(least, _tight(possible, together, most, left))
    return Exposure(horizon, by_addition, float_ceiling(own), least, delta)


def own_delta(registry: Registry, horizon: Horizon, today: date) -> Fraction:
    """Return the maximum sum of the deltas of all reports in a horizon.

    The ledger's ceiling bounds this sum, except over several windows if a browser wipes the ledger.
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
    """Return the smallest epsilon known to be valid at a delta.

    Args:
        possible: the possible reports, within the ceiling.
        together: the same; if questions are drawn, only those with the largest epsilon. Each of
            these is treated as the worst channel of its epsilon, because another drawn question may
            reveal more at a smaller epsilon.
        most: the ceiling, in billionths.
        delta: the part of delta that remains for the losses.

    """
    reports = _by_loss(possible)
    charges = {_pure(each.metric): each.metric.epsilon_nanos for each in possible}
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
    for each in reports:
        loss = PrivacyLoss.worst(as_float(each.metric.epsilon_nanos)) if worst else _pure(each.metric)
        of_losses[loss] = of_losses.get(loss, 0) + (math.inf if each.reports is None else each.reports)
    return of_losses


def _pure(metric: Metric) -> PrivacyLoss:
    """Return the loss without its delta; deltas are added up separately."""
    return loss_of(metric.channel)._replace(delta=0.0)


class PrivacyLoss(NamedTuple):
    """The privacy loss of a report for its worst pair of answers: epsilon, 0 or -epsilon.

    Attributes:
        epsilon: rounded up.
        extreme: the probability, under the likelier answer, that the loss is epsilon.
        delta: the probability that the loss has no bound.

    """

    epsilon: float
    extreme: float
    delta: float = 0.0

    @classmethod
    def worst(cls, epsilon: float, delta: float = 0.0) -> PrivacyLoss:
        """Return the loss of randomized response.

        No channel of the same epsilon and delta has a larger loss (Kairouz, Oh & Viswanath 2015,
        theorem 3.1).
        """
        return cls(epsilon, 1 / (1 + math.exp(-epsilon)), delta)

    def moment(self, order: float) -> float:
        """Return the logarithm of the mean of e to ``order`` times the loss."""
        high, low = math.log(self.extreme), math.log(self.extreme) - self.epsilon
        top = order * self.epsilon + high
        rest = max(0.0, 1 - self.extreme * (1 + math.exp(-self.epsilon)))
        others = math.exp(low - order * self.epsilon - top) + rest * math.exp(-top)
        return top + math.log1p(others)


@dataclass(frozen=True, slots=True, eq=False)
class _LossDistribution:
    """The distribution of a sum of losses, on the points ``first``, ``first`` + 1, … of a grid.

    Attributes:
        first: the first point.
        masses: the probability of each point.
        unbounded: the probability that the sum has no bound.

    """

    first: int
    masses: Floats
    unbounded: float = 0.0

    def cut(self, tail: float) -> _LossDistribution:
        """Return the distribution without tails.

        The upper tail is counted as unbounded; the lower one is moved up.
        """
        keep_to = self.masses.size - int((np.cumsum(self.masses[::-1]) <= tail).sum())
        keep_from = int((np.cumsum(self.masses[:keep_to]) <= tail).sum())
        masses = self.masses[keep_from:keep_to].copy()
        masses[:1] += self.masses[:keep_from].sum()
        return _LossDistribution(self.first + keep_from, masses, self.unbounded + float(self.masses[keep_to:].sum()))

    def plus(self, other: _LossDistribution) -> _LossDistribution:
        """Return the distribution of the sum. All terms are positive, so no digits are lost."""
        unbounded = 1 - (1 - self.unbounded) * (1 - other.unbounded)
        return _LossDistribution(self.first + other.first, np.convolve(self.masses, other.masses), unbounded)

    def times(self, reports: int, tail: float) -> _LossDistribution:
        """Return the distribution of the sum of many reports.

        Args:
            reports: their number.
            tail: the total probability that may be cut off on each side.

        """
        share, doubled, summed = tail / (4 * reports), self, _LossDistribution(0, np.ones(1))
        while reports:
            if reports & 1:
                summed = summed.plus(doubled).cut(share)
            doubled = doubled.plus(doubled).cut(share) if reports > 1 else doubled
            reports >>= 1
        return summed


def composed_epsilon(reports: Mapping[PrivacyLoss, int], delta: float) -> float:
    """Return the epsilon of all reports together at a delta, rounded up.

    Args:
        reports: the number of reports of each loss.
        delta: by how much a probability may exceed e^epsilon times another history's, above 0.

    Returns:
        The epsilon; infinite if delta is too small.

    """
    several = {loss: number for loss, number in reports.items() if number and loss.epsilon}
    if not several:
        return 0.0
    tail = delta * CUT / len(several)
    unbounded = -math.expm1(sum(number * math.log1p(-loss.delta) for loss, number in several.items()))
    laws = [(loss.epsilon, _distribution_of(loss).times(number, tail)) for loss, number in several.items()]
    if len(laws) == 1:
        ((step, law),) = laws
        return _least_epsilon(step, law, delta - unbounded)
    step = sum(epsilon * law.masses.size for epsilon, law in laws) / CELLS
    law, error = _convolved([_on_grid(law, epsilon, step) for epsilon, law in laws])
    return _least_epsilon(step, law, delta - unbounded - error)


def bounded_epsilon(
    reports: Mapping[PrivacyLoss, float],
    charges: Mapping[PrivacyLoss, int],
    ceiling: int,
    delta: float,
) -> float:
    """Return an epsilon that is valid at a delta for all choices of reports within a ceiling.

    Args:
        reports: the maximum reports of each loss; infinite if only the ceiling limits them.
        charges: the charge of one report of each loss, above 0.
        ceiling: the maximum sum of all charges.
        delta: by how much a probability may exceed e^epsilon times another history's, above 0. The
            delta of the reports themselves is ignored.

    """
    least = math.inf
    for order in ORDERS.tolist():
        worth = {loss: loss.moment(order) for loss in reports}
        moment, left = 0.0, float(ceiling)
        for loss in sorted(reports, key=lambda loss: worth[loss] / charges[loss], reverse=True):
            number = min(reports[loss], left / charges[loss])
            moment, left = moment + number * worth[loss], left - number * charges[loss]
        # Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy",
        # proposition 12
        slack = order * math.log(order / (order + 1)) - math.log(order + 1) - math.log(delta)
        least = min(least, (moment + slack) / order)
    return max(0.0, least * ROUNDING)


def _distribution_of(loss: PrivacyLoss) -> _LossDistribution:
    low = loss.extreme * math.exp(-loss.epsilon)
    return _LossDistribution(-1, np.array([low, max(0.0, 1 - loss.extreme - low), loss.extreme]))


def _on_grid(law: _LossDistribution, epsilon: float, step: float) -> _LossDistribution:
    """Return the distribution on the grid of a step, with each loss moved up to the next point."""
    points = np.ceil((law.first + np.arange(law.masses.size)) * (epsilon / step)).astype(np.int64)
    first = int(points[0])
    return _LossDistribution(first, np.bincount(points - first, law.masses).astype(np.float64), law.unbounded)


def _convolved(laws: list[_LossDistribution]) -> tuple[_LossDistribution, float]:
    """Return the distribution of the sum, and a bound on its rounding error.

    The bound is valid for the mass of any set of points. The error of a transform is below log2 n
    units in the last place of its length (Higham 2002, "Accuracy and stability of numerical
    algorithms", theorem 24.2); that of a sum of n points is at most sqrt(n) times as large.
    """
    size = sum(law.masses.size for law in laws) - len(laws) + 1
    length = 1 << size.bit_length()
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    kept = 1.0
    for law in laws:
        spectrum *= np.fft.rfft(law.masses, length)
        kept *= 1 - law.unbounded
    masses: Floats = np.maximum(np.fft.irfft(spectrum, length)[:size], 0.0)
    error = float(np.finfo(float).eps) * math.log2(length) * math.sqrt(length) * (len(laws) + 1)
    return _LossDistribution(sum(law.first for law in laws), masses, 1 - kept), error


def _least_epsilon(step: float, law: _LossDistribution, delta: float) -> float:
    left = delta - law.unbounded
    if left <= 0:
        return math.inf
    losses = step * ROUNDING * (law.first + np.arange(law.masses.size))

    def is_enough(epsilon: float) -> bool:
        above = losses > epsilon
        return float(-np.expm1(epsilon - losses[above]) @ law.masses[above]) <= left

    return 0.0 if is_enough(0.0) else bisected(is_enough, 0.0, max(0.0, float(losses[-1])))
