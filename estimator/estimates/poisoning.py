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
from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.estimates.channel_range import range_test
from estimator.estimates.group_means import group_weights
from estimator.estimates.mean_scale import positions_of, scale_of
from estimator.results.poisoning import Fakes, Move, ShareMove
from estimator.statistics.arrays import Counts, Floats


def fakes_of(
    metric: Metric, counts: Counts, labels: Sequence[Label] | None, unbiased: Floats, fraction: float
) -> Fakes:
    """Return what made-up reports could have done to a tally.

    Args:
        metric: the question.
        counts: of each symbol, shape (m,), at least one above 0.
        labels: of the estimated shares, or None.
        unbiased: the estimates of those shares, then of the mean, if there is one.
        fraction: the assumed fraction of made-up reports.

    """
    downs, ups = reach_of(metric, unbiased, fraction)
    moves = list(zip(downs.tolist(), ups.tolist(), strict=True))  # the mean's is the last
    of_shares = None if labels is None else zip(labels, moves, strict=False)
    return Fakes(
        fraction=fraction,
        estimates=None if of_shares is None else tuple(ShareMove(*move, value=value) for value, move in of_shares),
        mean=Move(*moves[-1]) if len(moves) > len(labels or ()) else None,
        test=range_test(metric.channel, counts),
    )


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
