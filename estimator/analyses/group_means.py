"""The mean of a number in each group, the groups' shares, and differences between groups.

A device rounds its number at random to a point of an even grid and reports group and point as one
category. The shares of these pairs are estimated without bias. From them, for each group, follow
without bias its share, and the share of the group times its mean. The mean is the ratio of the two,
like a share within a group: `ratios` has its interval, its differences and their p-values.

A group whose share's interval by Fieller's rule reaches 0 has no mean: it could be empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np

from client_sdk.protocol.kinds.cross import MeanByGroup
from estimator.analyses.means import Contrast, means_of
from estimator.analyses.ratios import Ratios, Sample
from estimator.analyses.shrinkage import FEWEST, shrunken_shares
from estimator.decoders.decoder import Inverse
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Figure, Figures
from estimator.results.group import FigureGroup
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, z_of

AT_HIGH: Final = 1
"""The outcome of a group whose share within it is the mean, as a fraction of the range."""


def intervals_of_means(kind: MeanByGroup) -> int:
    """Return the number of intervals of means and their differences."""
    return kind.first.size + math.comb(kind.first.size, 2)


def group_weights(kind: MeanByGroup, group: int) -> Floats:
    """Return the worth of each input in the share of a group, shape (k,)."""
    return np.repeat(np.arange(kind.first.size) == group, kind.points).astype(np.float64)


def group_shares(
    kind: MeanByGroup, inverse: Inverse, counts: Counts, reports: Counts, family: int
) -> Iterator[Figures]:
    """Yield the shares of the groups in each tally.

    Args:
        kind: the groups and the number.
        inverse: of the channel.
        counts: of each symbol, shape (tallies, m).
        reports: n, their sum, at least 1, shape (tallies, 1).
        family: the number of intervals of each tally that are to hold together.

    """
    groups = range(kind.first.size)
    contrasts = [Contrast.remembered(inverse, tuple(group_weights(kind, group).tolist())) for group in groups]
    figures = np.array([means_of(contrast, counts, reports, family) for contrast in contrasts])
    unbiased, errors, lows, highs = np.moveaxis(figures, 2, 0).swapaxes(1, 2)
    likeliest = maximum_likelihood(inverse, counts).reshape(len(counts), len(groups), -1).sum(axis=2)
    shrunken = shrunken_shares(unbiased, errors) if len(groups) >= FEWEST else np.zeros((len(counts), 0))
    for columns in zip(lows, highs, unbiased, errors, np.minimum(likeliest, 1.0), shrunken, strict=True):
        yield Figures(kind.first.labels, *columns)


def group_means(
    kind: MeanByGroup, inverse: Inverse, counts: Counts, unit: str, family: int = 1
) -> Iterator[FigureGroup]:
    """Yield the mean of each group and the differences between groups, in the number's units.

    Args:
        kind: the groups and the number.
        inverse: of the channel.
        counts: of each symbol of one tally, shape (m,), at least one above 0.
        unit: of the number.
        family: the number of intervals that are to hold together.

    """
    table, is_enough = ratios_of(kind, inverse, counts)
    z = z_of(family) if is_enough else math.inf
    low, high = float(kind.second.low), float(kind.second.high)
    means = [
        table.estimate(group, AT_HIGH, z).between(low, high).labelled(label)
        for group, label in enumerate(kind.first.labels)
    ]
    yield FigureGroup("mean_within", Figures.from_rows(means), unit, (low, high))
    differences = Figures.from_rows(_differences(kind, table, z, high - low))
    yield FigureGroup("difference_of_means", differences, unit, (low - high, high - low))


def ratios_of(kind: MeanByGroup, inverse: Inverse, counts: Counts) -> tuple[Ratios, bool]:
    """Return each group's parts at the low and the high end, and whether reports are enough."""
    sample = Sample.of(inverse, counts)
    ends = np.kron(np.eye(kind.first.size), _ends(kind.points))
    shares, covariance = ends @ inverse.shares(counts, sample.reports), ends @ sample.covariance(inverse) @ ends.T
    table = Ratios.of(shares, covariance, kind.first.size, 2)
    if sample.reports < EXACT_BELOW:
        return table, False
    return table.widened(Sample(ends @ sample.scores, counts)), True


def _ends(points: int) -> Floats:
    """Return how much of each point counts for the low and for the high end, shape (2, points)."""
    places = np.linspace(0.0, 1.0, points)
    return np.array([1.0 - places, places])


def _differences(kind: MeanByGroup, table: Ratios, z: float, width: float) -> Iterator[Figure]:
    """Yield the comparison of the means of every two groups."""
    labels = kind.first.labels
    pairs = list(combinations(range(len(labels)), 2))
    differences = [table.difference(*pair, AT_HIGH, z) for pair in pairs]
    known = [pair for pair, each in zip(pairs, differences, strict=True) if each.estimate is not None]
    firsts, seconds = np.array(known, dtype=np.intp).reshape(-1, 2).T
    p_values = dict(zip(known, table.p_values(firsts, seconds, np.full(len(known), AT_HIGH)), strict=True))
    for pair, difference in zip(pairs, differences, strict=True):
        scaled = difference.times(width)
        yield Figure(
            *(scaled.estimate, scaled.standard_error, scaled.low, scaled.high),
            value=(labels[pair[0]], labels[pair[1]]),
            p_value=p_values.get(pair),
        )
