"""The maximum privacy loss of a device in a window, in a month, in a year and over its life.

**Sum of epsilons.** Epsilons are added up as exact integers, in billionths. The ceilings in the
device's ledger limit each sum.

**Loss at a delta.** If a small delta is accepted, several reports reveal less than the sum of their
epsilons. For a pair of answers, the privacy loss of a symbol is the logarithm of the ratio of its
two probabilities. For many channels, this loss is epsilon, 0 or -epsilon for any two answers. The
worst pair of answers is then the pair with the smallest probability of a loss of 0. Three cases are
special:

* If the channel uses a tree, a device reports on one random level of the tree. The bound assumes
  the worst pair of answers on every level.
* A set or a rounded number is encoded as a random input. By convexity, the set or number reveals at
  most as much as the worst pair of inputs.
* A channel whose loss can have other values is treated as the worst channel with the same epsilon.

The losses of several reports add up. The distribution of the sum determines the smallest valid
epsilon for every delta (Dwork & Rothblum 2016, "Concentrated differential privacy", section 1;
Koskela, Jälkö & Honkela 2020, "Computing tight differential privacy guarantees using FFT"). For
randomized response, the sum is exact, and the result is the optimum of Kairouz, Oh & Viswanath
2015, "The composition theorem for differential privacy", theorem 3.3. Losses of different sizes are
rounded up to a common grid. Extremely large sums are left out, and their probability is added to
delta. Extremely small sums are rounded up.

**Ceilings.** If a ceiling rather than the calendar limits the number of reports, the device may
have sent any combination of reports on different metrics. The bound then uses moments, the means of
exp(order * loss), and assumes the combination with the largest moment. This method is a Rényi
filter (Feldman & Zrnic 2021, "Individual privacy accounting via a Rényi filter", section 4). The
bound of a filter is valid even if a device's earlier answers determine which metrics the device
answers later.
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
"""The number of points of the grid. Losses are rounded up to these points.

Rounding increases the sum of a hundred different losses by less than 1/500 of the distance between
the smallest and the largest possible sum.
"""

CUT = 2.0**-12
"""The fraction of delta that is reserved for cutting off rare sums of losses."""

ROUNDING = 1 + 2.0**-40
"""A factor that compensates for the rounding of floats in a sum of losses."""

ORDERS = 2.0 ** np.arange(-8, 16, 0.125)
"""The orders for which moments are computed. Each order gives a bound on epsilon, and the smallest
bound is used. More orders would hardly help, because adjacent orders give nearly the same bound.
"""

ROUNDED = 1 + 2.0**-48
"""A factor that compensates for the rounding of a probability to a float."""

MOST_COMPOSED = 10**6
"""The maximum number of reports with the same loss for which `composed_epsilon` is computed.

With more reports, only the bound by moments (`bounded_epsilon`) is used.
"""


def loss_of(channel: Channel) -> PrivacyLoss:
    """Return the privacy loss of one report. Earlier reports do not change this loss."""
    worst = PrivacyLoss.worst(as_float(epsilon_nanos(channel)), float(channel.last_step.delta) * ROUNDED)
    return worst._replace(extreme=min(worst.extreme, extreme_of(channel) * ROUNDED))


class Exposure(Record, frozen=True):
    """The maximum privacy loss of a device within a period."""

    within: Annotated[Horizon, says("the period of the reports.")]
    any_two_histories: Annotated[
        float, says("the sum of the epsilons of all reports. It bounds the loss between any two histories of answers.")
    ]
    delta_of_any_two_histories: Annotated[
        float,
        says(
            "the sum of the deltas of all reports, rounded up. The sum of the epsilons is valid at this delta. 0 if "
            "no question has a delta."
        ),
    ]
    any_two_histories_at_delta: Annotated[
        float | None,
        says(
            "the epsilon, valid at ``delta``, between any two histories of answers. It is at most the sum of all "
            "epsilons. None if the sum of the reports' deltas exceeds ``delta``."
        ),
    ]
    delta: Annotated[float, says("the delta at which ``any_two_histories_at_delta`` is valid.")]


def exposures(registry: Registry, today: date, delta: float) -> tuple[Exposure, ...]:
    """Return, for each horizon, the maximum privacy loss of a device that begins to report today.

    ``delta`` is the delta of `Exposure.any_two_histories_at_delta`.
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
    """Return the maximum total delta of all reports of a device in a period.

    The ledger's ceiling on deltas limits this sum. A browser may wipe its ledger, so in browsers,
    the ceiling does not limit the sum for a month or a year.
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
    """Return the smallest epsilon that can be proved for a delta.

    ``possible`` contains the maximum number of reports on each metric. ``together`` equals
    ``possible`` if devices answer every metric. If devices answer a random selection, ``together``
    contains only the reports with the largest epsilons. These reports are treated as reports of the
    worst channel with the same epsilon. Otherwise, a metric with a smaller epsilon but a worse
    channel might reveal more. ``most`` is the ceiling on the sum of all epsilons, in billionths.
    ``delta`` excludes the reports' own deltas.
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
    """Return the privacy loss of a report, but with a delta of 0.

    `own_delta` adds up the deltas.
    """
    return loss_of(metric.channel)._replace(delta=0.0)


class PrivacyLoss(NamedTuple):
    """The privacy loss of a report: epsilon, 0 or -epsilon for the worst pair of answers.

    ``epsilon`` is the largest loss, rounded up. ``extreme`` is the probability of the loss epsilon,
    given the answer for which this loss is more likely. For example, ``extreme`` is 3/4 for
    randomized response on "yes" and "no" at epsilon ln 3. ``delta`` is the probability that the
    loss is unbounded.
    """

    epsilon: float
    extreme: float
    delta: float = 0.0

    @classmethod
    def worst(cls, epsilon: float, delta: float = 0.0) -> PrivacyLoss:
        """Return the loss of randomized response.

        No channel with the same epsilon and delta has a larger loss (Kairouz, Oh & Viswanath 2015,
        theorem 3.1).
        """
        return cls(epsilon, 1 / (1 + math.exp(-epsilon)), delta)

    def moment(self, order: float) -> float:
        """Return the logarithm of the mean of exp(``order`` times the loss)."""
        high, low = math.log(self.extreme), math.log(self.extreme) - self.epsilon
        top = order * self.epsilon + high
        rest = max(0.0, 1 - self.extreme * (1 + math.exp(-self.epsilon)))
        others = math.exp(low - order * self.epsilon - top) + rest * math.exp(-top)
        return top + math.log1p(others)


@dataclass(frozen=True, slots=True, eq=False)
class _LossDistribution:
    """The distribution of a sum of privacy losses, on consecutive points of a grid.

    ``first`` is the first point. ``masses`` are the probabilities of the points. ``unbounded`` is
    the probability that the sum is unbounded.
    """

    first: int
    masses: Floats
    unbounded: float = 0.0

    def cut(self, tail: float) -> _LossDistribution:
        """Return the distribution without the unlikely points at both ends.

        The removed points at each end have a total probability of at most ``tail``. The probability
        of the points at the upper end is added to ``unbounded``. The probability of the points at
        the lower end is added to the lowest remaining point.
        """
        keep_to = self.masses.size - int((np.cumsum(self.masses[::-1]) <= tail).sum())
        keep_from = int((np.cumsum(self.masses[:keep_to]) <= tail).sum())
        masses = self.masses[keep_from:keep_to].copy()
        masses[:1] += self.masses[:keep_from].sum()
        return _LossDistribution(self.first + keep_from, masses, self.unbounded + float(self.masses[keep_to:].sum()))

    def plus(self, other: _LossDistribution) -> _LossDistribution:
        unbounded = 1 - (1 - self.unbounded) * (1 - other.unbounded)
        return _LossDistribution(self.first + other.first, np.convolve(self.masses, other.masses), unbounded)

    def times(self, reports: int, tail: float) -> _LossDistribution:
        """Return the distribution of the total loss of ``reports`` independent reports.

        The loss of each report has the distribution of this object.

        ``tail`` is the maximum total probability that may be cut off at each end.
        """
        share, doubled, summed = tail / (4 * reports), self, _LossDistribution(0, np.ones(1))
        while reports:
            if reports & 1:
                summed = summed.plus(doubled).cut(share)
            doubled = doubled.plus(doubled).cut(share) if reports > 1 else doubled
            reports >>= 1
        return summed


def composed_epsilon(reports: Mapping[PrivacyLoss, int], delta: float) -> float:
    """Return the total epsilon, rounded up, of all reports for a delta above 0.

    ``reports`` contains the number of reports with each loss. The result is infinite if delta is
    too small.
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
    """Return an epsilon that is valid for a delta and any combination of reports within a ceiling.

    ``reports`` contains the maximum number of reports with each loss. The number is infinite if
    only the ceiling limits the number of reports. ``charges`` contains, for each loss, the amount
    that a report with this loss costs, which must be above 0. ``ceiling`` is the maximum total cost
    of all reports. ``delta`` is above 0 and excludes the reports' own deltas.
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
    """Return the distribution with each loss rounded up to a multiple of ``step``."""
    points = np.ceil((law.first + np.arange(law.masses.size)) * (epsilon / step)).astype(np.int64)
    first = int(points[0])
    return _LossDistribution(first, np.bincount(points - first, law.masses).astype(np.float64), law.unbounded)


def _convolved(laws: list[_LossDistribution]) -> tuple[_LossDistribution, float]:
    """Return the distribution of the sum of losses, and a bound on its rounding error.

    The bound is valid for the probability of any set of points. The errors of a Fourier transform
    of n points form a vector. The norm of this vector is at most log2 n units in the last place
    times the norm of the transform (Higham 2002, "Accuracy and stability of numerical algorithms",
    theorem 24.2). The error of a sum of n points is at most sqrt(n) times this norm.
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
