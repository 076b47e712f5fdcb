"""How precise groups' shares and the differences of their means will be, before any data.

The figures are those of the report's own estimates, to first order for a ratio. Groups are taken to
be equally large. For a difference, answers are taken to be at the ends of the range, half of each
group at either: no numbers scatter more.
"""

from __future__ import annotations

import math

import numpy as np

from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.metric import Metric
from estimator.decoders.inversions import inverse_of
from estimator.decoders.protocol import Inverse
from estimator.decoders.squares import Squares
from estimator.estimates.group_means import group_weights
from estimator.plan.power import Z_OF_POWER
from estimator.plan.variance import squares_of
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, Z


def squares_of_shares(metric: Metric) -> Squares | None:
    """Return the mean squares of the shares of a metric: of its values, or of its groups."""
    if not isinstance(metric.kind, MeanByGroup):
        return squares_of(metric.channel)
    own, other, average = zip(
        *(_of_group(metric.kind, inverse_of(metric.channel), group) for group in _groups(metric)), strict=True
    )
    return Squares(metric.kind.first.size, np.array(own), np.array(other), np.array(average))


def share_count(metric: Metric) -> int:
    """Return how many shares a metric has."""
    return metric.kind.first.size if isinstance(metric.kind, MeanByGroup) else metric.channel.inputs


def least_difference(metric: Metric, reports: int) -> float | None:
    """Return the least difference of two groups' means that is seen four times in five.

    That is, its own 95 % interval, not corrected for other differences, then lies beside 0. None
    for other questions, with too few reports, and where it would exceed the range.
    """
    domain = metric.kind
    if not isinstance(domain, MeanByGroup) or reports < EXACT_BELOW:
        return None
    inverse = inverse_of(metric.channel)
    contrast = domain.first.size * (_residual(domain, 0) - _residual(domain, 1))
    squares = inverse.expectations(inverse.contrast(contrast) ** 2)
    at_ends = squares.reshape(domain.first.size, domain.points)[:, [0, -1]]
    least = (Z + Z_OF_POWER) * math.sqrt(float(at_ends.mean()) / reports)
    return least * float(domain.second.high - domain.second.low) if least <= 1 else None


def _groups(metric: Metric) -> range:
    assert isinstance(metric.kind, MeanByGroup)  # noqa: S101 no other question has groups
    return range(metric.kind.first.size)


def _of_group(domain: MeanByGroup, inverse: Inverse, group: int) -> tuple[float, float, float]:
    """Return the mean squares of a group's score.

    The first is that of a sender in the group. The others are the largest and the average of
    senders outside of it.
    """
    weights = group_weights(domain, group)
    squares = inverse.expectations(inverse.contrast(weights) ** 2)
    others = squares[weights == 0]
    return float(squares[weights > 0].max()), float(others.max()), float(others.mean())


def _residual(domain: MeanByGroup, group: int) -> Floats:
    """Return how far each input of a group lies above its mean, the middle, shape (k,).

    It is 0 for inputs of other groups.
    """
    places = np.tile(np.linspace(-0.5, 0.5, domain.points), domain.first.size)
    residual: Floats = places * group_weights(domain, group)
    return residual
