"""Clusters of similar answers: their number, and the answers, share and stability of each cluster.

Weighted k-means finds the clusters. Each possible answer is a point, and the estimated share of the
answer is the weight of the point. A number is represented by the middle of its histogram bin.
Clusters are computed from the tally alone, so they cost no privacy budget.

* k-means: Lloyd 1982, "Least squares quantization in PCM". Several sets of initial centers are
  drawn with k-means++ (Arthur & Vassilvitskii 2007) and a fixed seed. The result with the smallest
  sum of squared distances from the centers is used.
* The number of clusters: the number that maximizes the average silhouette width (Rousseeuw 1987,
  "Silhouettes"). In this average, each answer is weighted by its share. If this average is below
  .7, all answers form one cluster. Kaufman & Rousseeuw 1990, "Finding groups in data", table 4 of
  chapter 2, consider an average above .7 strong. For comparison, evenly spread answers have an
  average of .55.
* Two people with the same answer: their assumed distance is a third of the smallest distance
  between different answers. A distance of 0 would make each answer a cluster of its own.
* Stability: tallies are drawn from the fitted distribution (resampled), and clusters are computed
  from each. The stability of a cluster is the mean, over these tallies, of its Jaccard index with
  the most similar cluster of the tally. The index weights each answer by its share (Hennig 2007,
  "Cluster-wise assessment of cluster stability"). A cluster with a stability below .6 is probably
  noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.kinds.kind import Label
from estimator.decoders.decoder import Inverse
from estimator.distribution_intervals.intervals import STEPS, mean_within, shares_of_ranges, where_zero
from estimator.distribution_intervals.ranges import TallyRanges, limits_of
from estimator.likelihood.histogram import Fit, Histogram, shares_of
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Estimate
from estimator.results.metric import Cluster, Clusters
from estimator.statistics.arrays import Counts, Floats

MOST_CLUSTERS = 5
"""The maximum number of clusters. Readers could hardly tell more clusters apart."""

STARTS, STARTS_OF_A_RESAMPLE = 8, 4
"""The number of random starts of k-means for the tally, and for each resampled tally."""

MOST_ROUNDS = 100
"""The maximum number of rounds of k-means."""

SEED = 1
"""The fixed seed of the starts, so that a tally has the same clusters in every report."""

POINTS_OF_A_CLUSTER = 3
"""The minimum average number of points in a cluster.

If each point were a cluster, the silhouette width would be largest, but meaningless.
"""

STRONG = 0.7
"""The minimum average silhouette width. Below this width, all answers form one cluster."""

Members = NDArray[np.int64]

MOST_POINTS = 256
"""The maximum number of values to cluster. The distances between all pairs must fit in memory."""

RESAMPLES = 50
"""The number of resampled tallies."""

NUMBERS_AT_ONCE = 2**16
"""The maximum number of symbol counts in a batch of resampled tallies."""

SEED_OF_RESAMPLES = 2
"""The fixed seed of the resampled tallies, so that stabilities are the same in every report."""


def clusters_of_histogram(histogram: Histogram, counts: Counts, fit: Fit) -> Clusters:
    """Return the clusters of a number's answers.

    ``counts`` contains the count of each symbol, and ``fit`` the histograms fitted to the tally.
    """
    middles = (histogram.lows + histogram.highs) / 2
    law = histogram.symbol_law(fit.smoothed)
    resampled = shares_of(histogram, _drawn(law, counts) / counts.sum(), smooth=True, start=fit.smoothed)
    groups = split(middles[:, np.newaxis], fit.smoothed, resampled)
    tally = TallyRanges.from_counts(histogram, counts, fit.smoothed)
    clusters = []
    for members, stability in zip(groups.clusters, groups.stabilities, strict=True):
        first, last = int(members[0]), int(members[-1]) + (not histogram.is_of_points)  # a cluster has no gaps
        low, high = shares_of_ranges(tally, np.array([first]), np.array([last]))
        share, mean = _of_members(fit.smoothed, middles, members)
        clusters.append(
            Cluster(
                share=Estimate.within((float(low[0]), float(high[0])), share),
                stability=stability,
                start=float(histogram.points[first]),
                end=float(histogram.points[last]),
                mean=Estimate.within(mean_within(tally, first, last), mean),
            )
        )
    return Clusters(tuple(clusters), groups.numbers)


def clusters_of_values(
    points: Floats | None, labels: Sequence[Label], inverse: Inverse, counts: Counts, likeliest: Floats
) -> Clusters | None:
    """Return the clusters of the answers to a scale, a count or a pair of questions.

    Args:
        points: the coordinates of the answers, shape (k, d). None if answers have no coordinates.
        labels: the answers.
        inverse: the inverse of the channel.
        counts: the count of each symbol, shape (m,).
        likeliest: the maximum-likelihood shares of the inputs, shape (k,).

    Returns:
        The clusters. None if ``points`` is None or has more than `MOST_POINTS` rows.
    """
    if points is None or len(points) > MOST_POINTS:
        return None
    weights = likeliest / likeliest.sum()
    drawn, at_once = _drawn(inverse.symbol_law(weights), counts), max(1, NUMBERS_AT_ONCE // counts.size)
    starts = range(0, RESAMPLES, at_once)
    resampled = np.concatenate([maximum_likelihood(inverse, drawn[start : start + at_once]) for start in starts])
    groups = split(points, weights, resampled)
    values = Values(inverse, weights.size, counts)
    line = points[:, 0] if points.shape[1] == 1 else None
    clusters = []
    for members, stability in zip(groups.clusters, groups.stabilities, strict=True):
        share, mean = _of_members(weights, weights if line is None else line, members)
        clusters.append(
            Cluster(
                share=Estimate.within(values.share(members), share),
                stability=stability,
                values=tuple(labels[member] for member in members.tolist()),
                mean=None if line is None else Estimate.within(values.mean(members, line), mean),
            )
        )
    return Clusters(tuple(clusters), groups.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Confidence intervals for the total share and the mean position of some values.

    Attributes:
        inverse: the inverse of the channel.
        size: the number of values, k.
        counts: the count of each symbol, shape (m,).

    """

    inverse: Inverse
    size: int
    counts: Counts

    def share(self, members: Members) -> tuple[float, float]:
        """Return the confidence interval of the total share of the values ``members``."""
        score = self.inverse.contrast(_indicator(members, self.size))
        low, high = (
            float(np.clip(end[0], 0.0, 1.0)) for end in limits_of(self.inverse, self.counts, score[:, np.newaxis])
        )
        return low, high

    def mean(self, members: Members, line: Floats) -> tuple[float, float]:
        """Return the confidence interval of the mean position of the people with certain answers.

        A position c is in the interval if these people's signed distances from c could add up to 0.

        Args:
            members: the indices of these answers.
            line: the positions of all values of the metric, in rising order, shape (k,).
        """
        first, last = float(line[members].min()), float(line[members].max())
        if first == last:
            return first, last
        held = _indicator(members, self.size)
        of_positions, of_share = self.inverse.contrast(held * line), self.inverse.contrast(held)
        centers = np.linspace(first, last, STEPS + 1)
        scores = (of_positions[:, np.newaxis] - of_share[:, np.newaxis] * centers) / (last - first)
        return where_zero(centers, *limits_of(self.inverse, self.counts, scores, is_share=False))


def _indicator(members: Members, size: int) -> Floats:
    indicator = np.zeros(size)
    indicator[members] = 1.0
    return indicator


def _drawn(law: Floats, counts: Counts) -> Counts:
    return np.random.default_rng(SEED_OF_RESAMPLES).multinomial(int(counts.sum()), law / law.sum(), size=RESAMPLES)


def _of_members(shares: Floats, positions: Floats, members: Members) -> tuple[float, float]:
    share = float(shares[members].sum())
    weights = shares[members] if share > 0 else np.ones(members.size)
    return share, float(weights @ positions[members] / weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A division of the answers into clusters.

    Attributes:
        clusters: the indices of each cluster's answers. Clusters are ordered by their first answer.
        stabilities: how well resampled tallies reproduce each cluster, from 0 to 1.
        numbers: the fraction of resampled tallies with 1 cluster, with 2 clusters, and so on.
    """

    clusters: tuple[Members, ...]
    stabilities: tuple[float, ...]
    numbers: tuple[float, ...]


def split(points: Floats, shares: Floats, resampled_shares: Floats) -> Split:
    """Divide answers into clusters, and measure the stability of each cluster.

    Args:
        points: the coordinates of the answers, shape (points, dimensions). In one dimension, the
            points are in rising order.
        shares: the estimated weights of the answers, with sum 1, shape (points,).
        resampled_shares: the weights from resampled tallies, shape (resamples, points).
    """
    most = max(1, min(MOST_CLUSTERS, len(points) // POINTS_OF_A_CLUSTER))
    apart = _apart(points)
    splits = _splits(points, shares, most)
    number = _number(apart, shares, splits)
    resampled = [_splits(points, weights, most, STARTS_OF_A_RESAMPLE) for weights in resampled_shares]
    numbers = [_number(apart, weights, split) for weights, split in zip(resampled_shares, resampled, strict=True)]
    members = splits[number - 1]
    fitting = [split[number - 1] for split in resampled]
    held = [members == cluster for cluster in _in_order(members)]
    return Split(
        clusters=tuple(map(np.flatnonzero, held)),
        stabilities=tuple(_stability(cluster, resampled_shares, fitting) for cluster in held),
        numbers=tuple(numbers.count(size) / len(numbers) for size in range(1, most + 1)),
    )


def _apart(points: Floats) -> Floats:
    apart: Floats = np.sqrt(_distances(points, points))
    np.fill_diagonal(apart, np.inf)
    np.fill_diagonal(apart, apart.min() / 3)
    return apart


def _in_order(members: Members) -> list[int]:
    _, firsts = np.unique(members, return_index=True)
    return [int(members[first]) for first in sorted(firsts.tolist())]


def _number(apart: Floats, weights: Floats, splits: Sequence[Members]) -> int:
    widths = [STRONG, *(_silhouette(apart, weights, members) for members in splits[1:])]
    return 1 + int(np.argmax(widths))


def _silhouette(apart: Floats, weights: Floats, members: Members) -> float:
    held = (members[:, np.newaxis] == np.arange(members.max() + 1)) * weights[:, np.newaxis]
    totals = held.sum(axis=0)
    if np.count_nonzero(totals) < 2:  # noqa: PLR2004 a silhouette needs another cluster
        return 0.0
    to_clusters = apart @ held[:, totals > 0] / totals[totals > 0]
    own = held[:, totals > 0] > 0
    near = np.where(own, to_clusters, 0.0).sum(axis=1)
    next_best = np.where(own, np.inf, to_clusters).min(axis=1)
    widths = (next_best - near) / np.maximum(np.maximum(next_best, near), np.finfo(float).tiny)
    return float(weights @ widths)


def _splits(points: Floats, weights: Floats, most: int, starts: int = STARTS) -> list[Members]:
    """Divide the points into one cluster, into two clusters, and so on up to ``most`` clusters.

    Each division is an array with the cluster of each point, shape (points,).
    """
    generator = np.random.default_rng(SEED)
    return [_best(points, weights, number, generator, starts if number > 1 else 1) for number in range(1, most + 1)]


def _best(points: Floats, weights: Floats, number: int, generator: np.random.Generator, starts: int) -> Members:
    centers = np.array([_start(points, weights, number, generator) for _ in range(starts)])
    before = None
    for _ in range(MOST_ROUNDS):
        nearest = _distances(points, centers).argmin(axis=-1)
        if before is not None and (nearest == before).all():
            break
        centers, before = _centers(points, weights, nearest, centers), nearest
    distances = _distances(points, centers)
    members: Members = distances.argmin(axis=-1)
    squares = distances.min(axis=-1) @ weights
    best: Members = members[int(squares.argmin())]
    return best


def _start(points: Floats, weights: Floats, number: int, generator: np.random.Generator) -> Floats:
    """Draw the first centers of k-means++ among the points, shape (number, dimensions)."""
    chosen = [int(generator.choice(len(points), p=weights / weights.sum()))]
    for _ in range(number - 1):
        far = weights * _distances(points, points[chosen]).min(axis=-1)
        total = float(far.sum())
        chosen.append(int(generator.choice(len(points), p=far / total)) if total > 0 else chosen[0])
    centers: Floats = points[chosen]
    return centers


def _distances(points: Floats, centers: Floats) -> Floats:
    """Return the squared distance of each point from each center, shape (..., points, centers)."""
    distances: Floats = ((points[:, np.newaxis, :] - centers[..., np.newaxis, :, :]) ** 2).sum(axis=-1)
    return distances


def _centers(points: Floats, weights: Floats, nearest: Members, before: Floats) -> Floats:
    held = (nearest[..., np.newaxis] == np.arange(before.shape[-2])) * weights[:, np.newaxis]
    totals = held.sum(axis=-2)[..., np.newaxis]
    sums = np.swapaxes(held, -1, -2) @ points
    return np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), before)


def _stability(held: NDArray[np.bool_], resampled_shares: Floats, fitting: Sequence[Members]) -> float:
    return float(np.mean([_in_common(held, *resampled) for resampled in zip(resampled_shares, fitting, strict=True)]))


def _in_common(held: NDArray[np.bool_], shares: Floats, members: Members) -> float:
    most = 0.0
    for cluster in np.unique(members):
        similar = members == cluster
        either = float(shares[held | similar].sum())
        most = max(most, float(shares[held & similar].sum()) / either if either > 0 else 0.0)
    return most
