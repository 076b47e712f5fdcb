"""Two questions asked together: pairs of answers, or a number by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross, MeanByGroup
from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.kinds.ordinal import Ordinal
from estimator.analyses.answers import OneOfLabels, OneSymbol
from estimator.analyses.grid import check_range
from estimator.analyses.group_means import group_means, group_shares, group_weights, intervals_of_means
from estimator.analyses.joint import intervals_of, joint_of
from estimator.analyses.ratios import MOST_VALUES, Sample
from estimator.decoders.decoder import Squares
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.request import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, Z_OF_POWER, Z
from estimator.tallies.tally import Tally


class PairOfAnswers(OneOfLabels[Cross]):
    """Two answers of one device as one: shares within groups, differences and independence."""

    @property
    def points(self) -> Floats | None:
        """Where pairs lie; answers without an order are all equally far apart."""
        if self.metric.has_no_answer:
            return None
        first, second = _coordinates(self.kind.first), _coordinates(self.kind.second)
        return np.array([[*x, *y] for x in first for y in second])

    @property
    def more_intervals(self) -> int:
        """Those within groups, and of differences."""
        return intervals_of(self.kind)

    def is_joint(self, request: Request) -> bool:
        """Whether what follows from pairs is wanted."""
        return request.joint

    def with_joint(self, estimated: MetricEstimate, covariance: Floats, sample: Sample, family: int) -> MetricEstimate:
        """Return the estimates with shares within groups, differences and the test."""
        unbiased = estimated.figures("share").unbiased
        joint = joint_of(self.kind, unbiased, covariance, sample, family)
        groups = (*estimated.groups, *joint.groups)
        return replace(estimated, groups=groups, names=self.kind.names, independence=joint.independence)


class MeansByGroup(OneSymbol[MeanByGroup]):
    """A number of each device by a group: shares of the groups, and the mean of each."""

    compares_groups = True

    @property
    def labels(self) -> Sequence[Label]:
        """The groups."""
        return self.kind.first.labels

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the number's range."""
        return float(self.kind.second.low), float(self.kind.second.high)

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The mean of a group, and its share."""
        return {"mean[VALUE]": FigureKey("mean_within"), "share[VALUE]": FigureKey("share")}

    def check(self, tally: Tally) -> None:
        """Refuse a tally of another alphabet, or of numbers that floats cannot tell apart."""
        super().check(tally)
        check_range(self.kind.second)

    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield the shares of the groups in each tally."""
        for shares in group_shares(self.kind, self.inverse, counts, reports, family):
            yield (FigureGroup("share", shares, "", SHARES),)

    def unknown(self) -> tuple[FigureGroup, ...]:
        """Return shares of which nothing is known."""
        return (FigureGroup("share", Figures.unknown(self.labels), "", SHARES),)

    def family(self, request: Request) -> int:  # noqa: ARG002 of numbers
        """Return the number of shares, of means and of their differences."""
        groups = self.kind.first.size
        return (1 if groups == 2 else groups) + intervals_of_means(self.kind)  # noqa: PLR2004 of two one is the rest

    def more(self, estimated: MetricEstimate, counts: Counts, request: Request, family: int) -> MetricEstimate:
        """Return the estimates with the mean of each group, and differences."""
        if not estimated.reports:
            return estimated
        if request.joint:
            groups = group_means(self.kind, self.inverse, counts, self.metric.unit, family)
            estimated = replace(estimated, groups=(*estimated.groups, *groups), names=self.kind.names)
        if request.covariance and self.metric.channel.inputs <= MOST_VALUES:
            covariance = Sample.of(self.inverse, counts).covariance(self.inverse)
            estimated = replace(estimated, covariance=tuple(map(tuple, covariance.tolist())))
        return estimated

    @property
    def squares(self) -> Squares | None:
        """The mean squares of the groups' shares; groups are taken to be equally large."""
        own, other, average = zip(*map(self._squares_of_group, range(self.share_count)), strict=True)
        return Squares(self.share_count, np.array(own), np.array(other), np.array(average))

    def _squares_of_group(self, group: int) -> tuple[float, float, float]:
        """Return the mean squares of a group's score.

        The first is that of a sender in the group. The others are the largest and the average of
        senders outside of it.
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
        """Return the least difference of two groups' means that is seen four times in five.

        To first order. Groups are taken to be equally large, and answers to be at the ends of the
        range, half of each group at either: no numbers scatter more.
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
        """Return how far each input of a group lies above its mean, the middle, shape (k,).

        It is 0 for inputs of other groups.
        """
        places = np.tile(np.linspace(-0.5, 0.5, self.kind.points), self.kind.first.size)
        residual: Floats = places * group_weights(self.kind, group)
        return residual

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The least and the greatest score of a report for the share of each group."""
        scores = [self.inverse.contrast(group_weights(self.kind, group)) for group in range(self.share_count)]
        return np.array([each.min() for each in scores]), np.array([each.max() for each in scores])

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 a pair
        """Return the group."""
        group, _ = value
        return (group,)


def _coordinates(kind: Boolean | Category) -> Floats:
    """Return the positions of the answers to one of two questions, shape (k, d).

    Two of them are at most 1 apart. Answers on a scale lie on a line. Answers without an order are
    all equally far apart.
    """
    if isinstance(kind, Boolean | Ordinal):
        return np.linspace(0.0, 1.0, kind.size)[:, np.newaxis]
    corners: Floats = np.eye(kind.size) / np.sqrt(2)
    return corners
