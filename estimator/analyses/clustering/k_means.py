"""Clusters of answers: weighted k-means of an estimated histogram, their number and stability.

Everything follows from the tally, so it costs no budget. The points are the bins of a number, the
positions of a scale or a count, or the pairs of two questions. Their weights are the
maximum-likelihood shares (smoothed for a number's bins, as in the report's histogram).

* k-means: Lloyd 1982, "Least squares quantization in PCM". Several starts are drawn by distance
  (Arthur & Vassilvitskii 2007, "k-means++: the advantages of careful seeding") with a seed, and the
  best is kept.
* The number of clusters is the one with the largest average silhouette width (Rousseeuw 1987,
  "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis"), each
  point counted by its weight. If that width is below .7, which Kaufman & Rousseeuw 1990, "Finding
  groups in data", table 4 of chapter 2, call a strong structure, there is one cluster. (Evenly
  spread answers have .55, those of one bell less.) Two people with the same answer count as a third
  of the smallest distance between answers apart, which is the mean for rounded numbers. Otherwise
  each answer would be a cluster.
* Stability: tallies are drawn from the fitted law and clustered in the same way. The results are
  the frequency of each number of clusters, and for each cluster its stability: the mean Jaccard
  index, weighted by shares, with the most similar cluster of a resampled tally (Hennig 2007,
  "Cluster-wise assessment of cluster stability"). A stability below .6 means that there is no
  cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Floats

MOST_CLUSTERS = 5
"""More clusters than this nobody can tell apart or name."""

STARTS, STARTS_OF_A_RESAMPLE = 8, 4
"""The best of eight has the least squares of all in small cases. Half of them suffice to show the
noise.
"""

MOST_ROUNDS = 100
"""Of a start; a dozen are usual."""

SEED = 1
"""The same tally has the same clusters on every run."""

POINTS_OF_A_CLUSTER = 3
"""The least average number of points in a cluster. If each point were a cluster, silhouettes would
be widest and mean nothing.
"""

STRONG = 0.7
"""The least average silhouette width of clusters that are worth reporting."""

Members = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The answers divided into clusters.

    Attributes:
        clusters: the positions of each cluster's answers, ordered by their first.
        stabilities: how well resampled tallies reproduce each cluster, from 0 to 1.
        numbers: for each number of clusters, from 1, the fraction of resampled tallies with it.

    """

    clusters: tuple[Members, ...]
    stabilities: tuple[float, ...]
    numbers: tuple[float, ...]


def split(points: Floats, shares: Floats, resampled_shares: Floats) -> Split:
    """Divide the answers of a histogram into clusters.

    Args:
        points: the coordinates of the answers, shape (points, dimensions). With one dimension they
            rise.
        shares: their estimated weights, none negative, of sum 1; shape (points,).
        resampled_shares: the same from resampled tallies; shape (resamples, points).

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
    """Return the mean distances of people by their answers: shape (points, points)."""
    apart: Floats = np.sqrt(_distances(points, points))
    np.fill_diagonal(apart, np.inf)
    np.fill_diagonal(apart, apart.min() / 3)
    return apart


def _in_order(members: Members) -> list[int]:
    """Return the clusters that have points, ordered by their first point."""
    _, firsts = np.unique(members, return_index=True)
    return [int(members[first]) for first in sorted(firsts.tolist())]


def _number(apart: Floats, weights: Floats, splits: Sequence[Members]) -> int:
    """Return the number of clusters, from the silhouettes of one, two, … clusters."""
    widths = [STRONG, *(_silhouette(apart, weights, members) for members in splits[1:])]
    return 1 + int(np.argmax(widths))


def _silhouette(apart: Floats, weights: Floats, members: Members) -> float:
    """Return the average silhouette width.

    Args:
        apart: the distances of all points, shape (points, points).
        weights: of the points, shape (points,).
        members: the cluster of each point, shape (points,).

    """
    held = (members[:, np.newaxis] == np.arange(members.max() + 1)) * weights[:, np.newaxis]
    totals = held.sum(axis=0)
    if np.count_nonzero(totals) < 2:  # noqa: PLR2004 a silhouette is seen against another cluster
        return 0.0
    to_clusters = apart @ held[:, totals > 0] / totals[totals > 0]
    own = held[:, totals > 0] > 0
    near = np.where(own, to_clusters, 0.0).sum(axis=1)
    next_best = np.where(own, np.inf, to_clusters).min(axis=1)
    widths = (next_best - near) / np.maximum(np.maximum(next_best, near), np.finfo(float).tiny)
    return float(weights @ widths)


def _splits(points: Floats, weights: Floats, most: int, starts: int = STARTS) -> list[Members]:
    """Return the points divided into one cluster, into two, … into ``most``."""
    generator = np.random.default_rng(SEED)
    return [_best(points, weights, number, generator, starts if number > 1 else 1) for number in range(1, most + 1)]


def _best(points: Floats, weights: Floats, number: int, generator: np.random.Generator, starts: int) -> Members:
    centres = np.array([_start(points, weights, number, generator) for _ in range(starts)])
    before = None
    for _ in range(MOST_ROUNDS):
        nearest = _distances(points, centres).argmin(axis=-1)
        if before is not None and (nearest == before).all():
            break
        centres, before = _centres(points, weights, nearest, centres), nearest
    distances = _distances(points, centres)
    members: Members = distances.argmin(axis=-1)
    squares = distances.min(axis=-1) @ weights
    best: Members = members[int(squares.argmin())]
    return best


def _start(points: Floats, weights: Floats, number: int, generator: np.random.Generator) -> Floats:
    """Return centres at points, each drawn by its weighted squared distance from earlier ones."""
    chosen = [int(generator.choice(len(points), p=weights / weights.sum()))]
    for _ in range(number - 1):
        far = weights * _distances(points, points[chosen]).min(axis=-1)
        total = float(far.sum())
        chosen.append(int(generator.choice(len(points), p=far / total)) if total > 0 else chosen[0])
    centres: Floats = points[chosen]
    return centres


def _distances(points: Floats, centres: Floats) -> Floats:
    """Return squared distances: (points, d) and (..., k, d) to (..., points, k)."""
    distances: Floats = ((points[:, np.newaxis, :] - centres[..., np.newaxis, :, :]) ** 2).sum(axis=-1)
    return distances


def _centres(points: Floats, weights: Floats, nearest: Members, before: Floats) -> Floats:
    """Return the weighted mean of each cluster. A cluster without weight stays in place."""
    held = (nearest[..., np.newaxis] == np.arange(before.shape[-2])) * weights[:, np.newaxis]
    totals = held.sum(axis=-2)[..., np.newaxis]
    sums = np.swapaxes(held, -1, -2) @ points
    return np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), before)


def _stability(held: NDArray[np.bool_], resampled_shares: Floats, fitting: Sequence[Members]) -> float:
    """Return the mean Jaccard index with the most similar clusters of equally split resamples."""
    return float(np.mean([_in_common(held, *resampled) for resampled in zip(resampled_shares, fitting, strict=True)]))


def _in_common(held: NDArray[np.bool_], shares: Floats, members: Members) -> float:
    """Return the Jaccard index with the most similar cluster of a resampled tally."""
    most = 0.0
    for cluster in np.unique(members):
        similar = members == cluster
        either = float(shares[held | similar].sum())
        most = max(most, float(shares[held & similar].sum()) / either if either > 0 else 0.0)
    return most
