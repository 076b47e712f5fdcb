"""Which answers can form clusters, where they lie, and how large the clusters are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client_sdk.protocol.kinds.kind import Label
from estimator.analyses.clustering.k_means import Members, split
from estimator.decoders.protocol import Inverse
from estimator.distribution_intervals.intervals import STEPS, mean_within, shares_of_ranges, where_zero
from estimator.distribution_intervals.limits import limits_of
from estimator.distribution_intervals.stretches import TallyStretches
from estimator.likelihood.expectation_maximization import shares_of
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Estimate
from estimator.results.extras import Cluster, Clusters
from estimator.statistics.arrays import Counts, Floats

MOST_POINTS = 256
"""The most values to cluster, because the distances of all pairs are held."""

RESAMPLES = 50
"""The number of resampled tallies. Each is split in every way."""

NUMBERS_AT_ONCE = 2**16
"""Counts of resampled tallies that are fitted at once: one by one they take ten times as long."""

SEED = 2
"""The same tally has the same clusters on every run."""


def clusters_of_histogram(histogram: Histogram, counts: Counts, fit: Fit) -> Clusters:
    """Return the clusters of a number's answers.

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        counts: of each symbol, shape (symbols,).
        fit: the histograms fitted to the tally.

    """
    middles = (histogram.lows + histogram.highs) / 2
    law = histogram.symbol_law(fit.smoothed)
    resampled = shares_of(histogram, _drawn(law, counts) / counts.sum(), smooth=True, start=fit.smoothed)
    groups = split(middles[:, np.newaxis], fit.smoothed, resampled)
    tally = TallyStretches.of(histogram, counts, fit.smoothed)
    clusters = []
    for members, stability in zip(groups.clusters, groups.stabilities, strict=True):
        first, last = int(members[0]), int(members[-1]) + (not histogram.is_of_points)  # a line has no gaps
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
    """Return the clusters of a scale, a count or a pair.

    Args:
        points: where the answers lie, shape (k, d); None if they lie nowhere.
        labels: the answers.
        inverse: of the channel.
        counts: of each symbol, shape (m,).
        likeliest: the maximum-likelihood shares of its inputs, shape (k,).

    Returns:
        The clusters, or None without points and for too many values.

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
    """Answers that are values: limits of sums of their shares.

    Attributes:
        inverse: of the channel.
        size: the number of values, k.
        counts: of each symbol, shape (m,).

    """

    inverse: Inverse
    size: int
    counts: Counts

    def share(self, members: Members) -> tuple[float, float]:
        """Return the limits of the share of some values, within 0..1."""
        score = self.inverse.contrast(_indicator(members, self.size))
        low, high = (
            float(np.clip(end[0], 0.0, 1.0)) for end in limits_of(self.inverse, self.counts, score[:, np.newaxis])
        )
        return low, high

    def mean(self, members: Members, line: Floats) -> tuple[float, float]:
        """Return the limits of the mean position of some values.

        The mean is the c at which the distances from c add up to 0.

        Args:
            members: the values.
            line: the position of each value, rising, shape (k,).

        """
        first, last = float(line[members].min()), float(line[members].max())
        if first == last:
            return first, last
        held = _indicator(members, self.size)
        of_positions, of_share = self.inverse.contrast(held * line), self.inverse.contrast(held)
        centres = np.linspace(first, last, STEPS + 1)
        scores = (of_positions[:, np.newaxis] - of_share[:, np.newaxis] * centres) / (last - first)
        return where_zero(centres, *limits_of(self.inverse, self.counts, scores, is_share=False))


def _indicator(members: Members, size: int) -> Floats:
    indicator = np.zeros(size)
    indicator[members] = 1.0
    return indicator


def _drawn(law: Floats, counts: Counts) -> Counts:
    """Return tallies of the same size, drawn from a law: shape (RESAMPLES, symbols)."""
    return np.random.default_rng(SEED).multinomial(int(counts.sum()), law / law.sum(), size=RESAMPLES)


def _of_members(shares: Floats, positions: Floats, members: Members) -> tuple[float, float]:
    """Return the share of some answers, and the mean of their positions."""
    share = float(shares[members].sum())
    weights = shares[members] if share > 0 else np.ones(members.size)
    return share, float(weights @ positions[members] / weights.sum())
