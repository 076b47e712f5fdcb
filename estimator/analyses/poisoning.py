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

from client_sdk.protocol.channel import Channel
from estimator.analyses.channel_range import range_test
from estimator.results.group import FigureGroup
from estimator.results.poisoning import Fakes, Move
from estimator.statistics.arrays import Counts, Floats

Extremes = tuple[Floats, Floats]
"""The least and the greatest score of a report for each figure, each of shape (figures,)."""


def fakes_of(
    channel: Channel, extremes: Extremes, counts: Counts, groups: Sequence[FigureGroup], fraction: float
) -> Fakes:
    """Return what made-up reports could have done to a tally.

    Args:
        channel: of the question.
        extremes: the least and the greatest score of a report for each figure.
        counts: of each symbol, shape (m,), at least one above 0.
        groups: the estimated shares, the mean, or both in this order.
        fraction: the assumed fraction of made-up reports.

    """
    keys = [key for group in groups for key in group.keys]
    unbiased = np.concatenate([group.figures.unbiased for group in groups])
    downs, ups = reach_of(extremes, unbiased, fraction)
    moved = zip(keys, downs.tolist(), ups.tolist(), strict=True)
    moves = tuple(Move(key.statistic, down, up, key.value) for key, down, up in moved)
    return Fakes(fraction=fraction, moves=moves, test=range_test(channel, counts))


def reach_of(extremes: Extremes, unbiased: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Return the most by which each observed estimate was lowered, and raised; see `fakes_of`."""
    least, most = extremes
    odds = fraction / (1 - fraction)
    return odds * (unbiased - least), odds * (most - unbiased)
