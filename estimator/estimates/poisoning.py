"""Made-up reports: how far they could have moved an estimate, and a test of the tally itself.

An estimate is the mean of the scores of the reports. If a fraction beta of the reports is made up,
and the others by themselves would give f, the estimate is at most (1 - beta) f + beta * most, where
most is the largest score of a report, and at least the same with the least score. An observed
estimate e was therefore raised by at most beta * (most - e) / (1 - beta), and lowered by at most
beta * (e - least) / (1 - beta) (Cao, Jia & Gong 2021, "Data poisoning attacks to local differential
privacy protocols", section 4; Cheu, Smith & Ullman 2021, "Manipulation attacks in local
differential privacy").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.estimates.channel_range import range_test
from estimator.estimates.group_means import group_weights
from estimator.estimates.mean_scale import positions_of, scale_of
from estimator.results.group import FigureGroup
from estimator.results.poisoning import Fakes, Move
from estimator.statistics.arrays import Counts, Floats


def fakes_of(metric: Metric, counts: Counts, groups: Sequence[FigureGroup], fraction: float) -> Fakes:
    """Return what made-up reports could have done to a tally.

    Args:
        metric: the question.
        counts: of each symbol, shape (m,), at least one above 0.
        groups: the estimated shares, the mean, or both in this order.
        fraction: the assumed fraction of made-up reports.

    """
    keys = [key for group in groups for key in group.keys]
    unbiased = np.concatenate([group.figures.unbiased for group in groups])
    downs, ups = reach_of(metric, unbiased, fraction)
    moved = zip(keys, downs.tolist(), ups.tolist(), strict=True)
    moves = tuple(Move(key.statistic, down, up, key.value) for key, down, up in moved)
    return Fakes(fraction=fraction, moves=moves, test=range_test(metric.channel, counts))


def reach_of(metric: Metric, unbiased: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Return the most by which each observed estimate was lowered, and raised; see `fakes_of`."""
    least, most = extremes_of(metric)
    odds = fraction / (1 - fraction)
    return odds * (unbiased - least), odds * (most - unbiased)


def extremes_of(metric: Metric) -> tuple[Floats, Floats]:
    """Return the least and the greatest score of a report for the shares, then for the mean."""
    domain, positions = metric.kind, positions_of(metric)
    decoder = decoder_of(metric.channel)
    if decoder is not None:
        return _of_mean(metric, decoder.scores)
    inverse = inverse_of(metric.channel)
    if isinstance(domain, Grid) and domain.size is None:
        return _of_mean(metric, inverse.contrast(np.array([0.0, 1.0])))
    if isinstance(domain, MeanByGroup):
        scores = [inverse.contrast(group_weights(domain, group)) for group in range(domain.first.size)]
        return np.array([each.min() for each in scores]), np.array([each.max() for each in scores])
    factor = domain.max_items if isinstance(domain, Subset) else 1
    ends = [np.broadcast_to(factor * end, metric.channel.inputs)[: len(metric.labels)] for end in inverse.extremes()]
    if positions is None:
        return ends[0], ends[1]
    lowest, highest = positions.min(), positions.max()
    scores = lowest + (highest - lowest) * inverse.contrast(scale_of(metric))
    return np.append(ends[0], scores.min()), np.append(ends[1], scores.max())


def _of_mean(metric: Metric, scores: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest score in the units of a number."""
    assert isinstance(metric.kind, Grid)  # noqa: S101 such channels are for numbers only
    low, high = float(metric.kind.low), float(metric.kind.high)
    return low + (high - low) * scores.min(keepdims=True), low + (high - low) * scores.max(keepdims=True)
