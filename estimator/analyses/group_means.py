"""The mean of a number in each group, the groups' shares, and differences between groups.

A device rounds its number at random to a point of an evenly spaced grid. The device then reports
the pair of its group and this point like a value of a category.

The estimates follow from the shares of these pairs:

* The share of a group is the sum of its pairs' shares.
* The mean of a group is the weighted sum of its pairs' shares, divided by the group's share. The
  weight of a pair is the value of its grid point.

The module `ratios` computes the intervals and p-values. If the interval of a group's share includes
0, the report gives no mean for this group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.kind import Label
from estimator.analyses.answers import OneSymbol
from estimator.analyses.grid import check_range
from estimator.analyses.means import Contrast, means_of
from estimator.analyses.ratios import MOST_VALUES, Ratios, Sample
from estimator.analyses.shrinkage import FEWEST, shrunken_shares
from estimator.decoders.decoder import Inverse, Squares
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Figure, Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, Z_OF_POWER, Z, z_of
from estimator.tallies import Tally

AT_HIGH: Final = 1
"""The index of the outcome "high end".

Each answer counts partly as the low end and partly as the high end of the range. In the range
0..10, the answer 7.5 counts as 1/4 low and 3/4 high. A group's mean, as a fraction of the range,
is the share of the outcome "high end" in the group.
"""


class MeansByGroup(OneSymbol[MeanByGroup]):
    """Metrics about a group and a number: the share of each group, and the mean of each group."""

    compares_groups = True

    @property
    def labels(self) -> Sequence[Label]:
        """The labels of the groups."""
        return self.kind.first.labels

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the number's range."""
        return float(self.kind.second.low), float(self.kind.second.high)

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The estimates that alerts may watch: the mean of a group, and the share of a group."""
        return {"mean[VALUE]": FigureKey("mean_within"), "share[VALUE]": FigureKey("share")}

    def check(self, tally: Tally) -> None:
        """Refuse a tally that does not fit the channel.

        Also refuse a range that is too narrow for floats to distinguish its numbers.
        """
        super().check(tally)
        check_range(self.kind.second)

    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield the shares of the groups in each tally."""
        for shares in group_shares(self.kind, self.inverse, counts, reports, family):
            yield (FigureGroup("share", shares, "", SHARES),)

    def unknown(self) -> tuple[FigureGroup, ...]:
        """Return shares with intervals 0..1, for a tally without reports."""
        return (FigureGroup("share", Figures.unknown(self.labels), "", SHARES),)

    def family(self, request: Request) -> int:  # noqa: ARG002 used for numbers
        """Return the number of intervals for one tally's shares, means and differences."""
        groups = self.kind.first.size
        return (1 if groups == 2 else groups) + intervals_of_means(self.kind)  # noqa: PLR2004 the second share is 1 minus the first

    def more(self, estimated: MetricEstimate, counts: Counts, request: Request, family: int) -> MetricEstimate:
        """Add the groups' means, the differences between these means, and the covariance."""
        if not estimated.reports:
            return estimated
        if request.joint:
            groups = group_means(self.kind, self.inverse, counts, self.metric.unit, family)
            estimated = replace(estimated, groups=(*estimated.groups, *groups), names=self.kind.names)
        if request.covariance and self.metric.channel.inputs <= MOST_VALUES:
            covariance = Sample.from_counts(self.inverse, counts).covariance(self.inverse)
            estimated = replace(estimated, covariance=tuple(map(tuple, covariance.tolist())))
        return estimated

    @property
    def squares(self) -> Squares | None:
        """The mean squared score of a report, for the share of each group."""
        own, other, average = zip(*map(self._squares_of_group, range(self.share_count)), strict=True)
        return Squares(self.share_count, np.array(own), np.array(other), np.array(average))

    def _squares_of_group(self, group: int) -> tuple[float, float, float]:
        """Return three mean squared scores of a report, for the share of a group.

        * the largest mean square among the group's inputs
        * the largest mean square among the other inputs
        * the average of the mean squares of the other inputs
        """
        weights = group_weights(self.kind, group)
        squares = self.inverse.expectations(self.inverse.contrast(weights) ** 2)
        others = squares[weights == 0]
        return float(squares[weights > 0].max()), float(others.max()), float(others.mean())

    @property
    def share_count(self) -> int:
        """The number of groups."""
        return self.kind.first.size

    def least_difference(self, reports: int) -> float | None:
        """Return the smallest difference between two groups' means that is detected with 80% power.

        The result is a first-order approximation for groups of equal size. In each group, half of
        the answers are assumed to be at each end of the range, because this maximizes the variance.
        """
        if reports < EXACT_BELOW:
            return None
        kind, inverse = self.kind, self.inverse
        contrast = kind.first.size * (self._residual(0) - self._residual(1))
        squares = inverse.expectations(inverse.contrast(contrast) ** 2)
        at_ends = squares.reshape(kind.first.size, kind.points)[:, [0, -1]]
        least = (Z + Z_OF_POWER) * math.sqrt(float(at_ends.mean()) / reports)
        return least * self.width if least <= 1 else None

    def _residual(self, group: int) -> Floats:
        """Return the signed distance of each input from the middle of the range, shape (k,).

        The unit is the length of the range. Inputs of groups other than ``group`` have distance 0.
        """
        places = np.tile(np.linspace(-0.5, 0.5, self.kind.points), self.kind.first.size)
        residual: Floats = places * group_weights(self.kind, group)
        return residual

    def worth(self, value: Any) -> float:  # noqa: ANN401 a group and a number
        """Return the number in an answer (a group and a number), clipped to the range."""
        _, number = value
        return float(self.kind.second.within(number))

    def noise_within(self, shares: Floats, means: Floats) -> Floats:
        """Return the minimum variance that fresh noise in one report adds to each group's mean.

        To first order, a report from the group changes the mean by (answer - mean) / share. All
        devices are assumed to give the answers for which this noise is smallest. If answers are
        permanent, the result is 0.
        """
        if self.metric.channel.permanent_nanos:
            return np.zeros_like(means)
        noise = []
        for group, (share, mean) in enumerate(zip(np.clip(shares, 0.0, 1.0), means, strict=True)):
            members = group_weights(self.kind, group)
            places = np.tile(np.linspace(0.0, 1.0, self.kind.points), self.kind.first.size)
            deviations = members * (places - mean) / share
            variances = self.inverse.expectations(self.inverse.contrast(deviations) ** 2) - deviations**2
            within, outside = (variances[members == each].min() for each in (1, 0))
            noise.append(share * within + (1 - share) * outside)
        return np.maximum(0.0, noise)

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and the largest score of a single report, for the share of each group."""
        scores = [self.inverse.contrast(group_weights(self.kind, group)) for group in range(self.share_count)]
        return np.array([each.min() for each in scores]), np.array([each.max() for each in scores])

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 a pair
        """Return the group in an answer (a group and a number)."""
        group, _ = value
        return (group,)


def intervals_of_means(kind: MeanByGroup) -> int:
    """Return the number of intervals: one for each group's mean and one for each pair of groups."""
    return kind.first.size + math.comb(kind.first.size, 2)


def group_weights(kind: MeanByGroup, group: int) -> Floats:
    """Return an array with 1 for each input of a group and 0 for other inputs, shape (k,)."""
    return np.repeat(np.arange(kind.first.size) == group, kind.points).astype(np.float64)


def group_shares(
    kind: MeanByGroup, inverse: Inverse, counts: Counts, reports: Counts, family: int
) -> Iterator[Figures]:
    """Yield the shares of the groups in each tally.

    ``counts`` has shape (tallies, m), and ``reports`` has shape (tallies, 1). Each tally must have
    at least one report.
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
    """Yield the mean of each group and the differences between groups, in the number's unit.

    The tally needs at least one report. ``family`` is the number of simultaneous 95% intervals.
    """
    table, is_enough = ratios_of(kind, inverse, counts)
    z = z_of(family) if is_enough else math.inf
    low, high = float(kind.second.low), float(kind.second.high)
    means = [
        table.estimate(group, AT_HIGH, z).between(low, high).labeled(label)
        for group, label in enumerate(kind.first.labels)
    ]
    yield FigureGroup("mean_within", Figures.from_rows(means), unit, (low, high))
    differences = Figures.from_rows(_differences(kind, table, z, high - low))
    yield FigureGroup("difference_of_means", differences, unit, (low - high, high - low))


def ratios_of(kind: MeanByGroup, inverse: Inverse, counts: Counts) -> tuple[Ratios, bool]:
    """Return the groups' means as ratios, and whether there are enough reports for estimates.

    Each ratio is the share of the outcome "high end" within a group (see `AT_HIGH`).
    """
    sample = Sample.from_counts(inverse, counts)
    ends = np.kron(np.eye(kind.first.size), _ends(kind.points))
    shares, covariance = ends @ inverse.shares(counts, sample.reports), ends @ sample.covariance(inverse) @ ends.T
    table = Ratios.from_shares(shares, covariance, kind.first.size, 2)
    if sample.reports < EXACT_BELOW:
        return table, False
    return table.widened(Sample(ends @ sample.scores, counts)), True


def _ends(points: int) -> Floats:
    """Return each point's weights for the low end and the high end, shape (2, points).

    With five points, the second point has the weights 3/4 and 1/4.
    """
    places = np.linspace(0.0, 1.0, points)
    return np.array([1.0 - places, places])


def _differences(kind: MeanByGroup, table: Ratios, z: float, width: float) -> Iterator[Figure]:
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
