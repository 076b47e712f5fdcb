"""Made-up reports: how far they could have moved an estimate, beside a test of the tally itself.

An estimate is the mean over reports of what each of them adds. Where a fraction beta of the reports is made up, and the
others by themselves would give f, the estimate is at most (1 - beta) f + beta * most, and at least the same with the
least that a report can add. So an estimate e that is seen was raised by at most beta * (most - e) / (1 - beta), and
lowered by at most beta * (e - least) / (1 - beta) (Cao, Jia & Gong 2021, "Data poisoning attacks to local differential
privacy protocols", section 4; Cheu, Smith & Ullman 2021, "Manipulation attacks in local differential privacy").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from client_sdk.protocol import Label, Metric, Number, Subset
from estimator.estimates.channel_range import range_test
from estimator.estimates.mean_scale import positions_of, scale_of
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.results.poisoning import Fakes, Move
from estimator.statistics.arrays import Counts, Floats


def fakes_of(
    metric: Metric, counts: Counts, labels: Sequence[Label] | None, unbiased: Floats, fraction: float
) -> Fakes:
    """Return what made-up reports could have done to a tally.

    Args:
        metric: the question.
        counts: of each symbol, shape (m,), at least one above 0.
        labels: whose shares were estimated; or none.
        unbiased: the estimates of those shares, then of the mean, if there is one.
        fraction: of the reports that is taken for made up.

    """
    downs, ups = reach_of(metric, unbiased, fraction)
    moves = [Move(down, up) for down, up in zip(downs.tolist(), ups.tolist(), strict=True)]
    shares = None if labels is None else tuple(zip(labels, moves, strict=False))  # the mean's comes last
    mean = moves[-1] if len(moves) > len(labels or ()) else None
    return Fakes(fraction, shares, mean, range_test(metric.channel, counts))


def reach_of(metric: Metric, unbiased: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Return by how much at most each estimate that is seen was lowered, and raised; as `fakes_of`."""
    least, most = extremes_of(metric)
    odds = fraction / (1 - fraction)
    return odds * (unbiased - least), odds * (most - unbiased)


def extremes_of(metric: Metric) -> tuple[Floats, Floats]:
    """Return the least and the most that one report can add to each unbiased estimate: shares, then the mean."""
    domain, positions = metric.domain, positions_of(metric)
    decoder = decoder_of(metric.channel)
    if decoder is not None:
        return _of_mean(metric, decoder.answers)
    inverse = inverse_of(metric.channel)
    if isinstance(domain, Number) and domain.size is None:
        return _of_mean(metric, inverse.contrast(np.array([0.0, 1.0])))
    factor = domain.max_items if isinstance(domain, Subset) else 1
    ends = [np.broadcast_to(factor * end, metric.channel.inputs)[: len(domain.labels)] for end in inverse.extremes()]
    if positions is None:
        return ends[0], ends[1]
    lowest, highest = positions.min(), positions.max()
    added = lowest + (highest - lowest) * inverse.contrast(scale_of(metric))
    return np.append(ends[0], added.min()), np.append(ends[1], added.max())


def _of_mean(metric: Metric, answers: Floats) -> tuple[Floats, Floats]:
    """Return the ends of what symbols speak for, from 0 to 1, in the units of a number."""
    assert isinstance(metric.domain, Number)  # noqa: S101 such channels are for numbers only
    low, high = float(metric.domain.low), float(metric.domain.high)
    return low + (high - low) * answers.min(keepdims=True), low + (high - low) * answers.max(keepdims=True)
