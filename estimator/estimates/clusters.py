"""Which answers can form clusters, where they lie, and how their tallies are resampled."""

from __future__ import annotations

import numpy as np

from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import Category, Ordinal
from client_sdk.protocol.domain.cross import Cross
from client_sdk.protocol.metric import Metric
from estimator.estimates.k_means import Bins, Values, clusters_of
from estimator.estimates.mean_scale import positions_of
from estimator.inverse.protocol import Inverse
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.clusters import Clusters
from estimator.statistics.arrays import Counts, Floats

MOST_POINTS = 256
"""The most values to cluster, because the distances of all pairs are held."""

RESAMPLES = 50
"""The number of resampled tallies: one beyond each end of an interval of 95 %. Each is split in
every way."""

SEED = 2
"""The same tally has the same clusters on every run."""


def clusters_of_histogram(histogram: Histogram, fit: Fit) -> Clusters:
    """Return the clusters of a number's answers.

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        fit: the histograms fitted to the tally and to its resamples.

    """
    points = (histogram.lows + histogram.highs)[:, np.newaxis] / 2
    return clusters_of(points, Bins(histogram.lows, histogram.highs), fit.smoothed, fit.resampled[:RESAMPLES])


def clusters_of_values(metric: Metric, inverse: Inverse, counts: Counts, likeliest: Floats) -> Clusters | None:
    """Return the clusters of a scale, a count or a pair.

    Args:
        metric: the question.
        inverse: of its channel.
        counts: of each symbol, shape (m,).
        likeliest: the maximum-likelihood shares of its inputs, shape (k,).

    Returns:
        The clusters, or None for other kinds and for too many values.

    """
    points = _points(metric)
    if points is None or len(points) > MOST_POINTS:
        return None
    law = inverse.symbol_law(likeliest)
    drawn = np.random.default_rng(SEED).multinomial(int(counts.sum()), law / law.sum(), size=RESAMPLES)
    resampled = np.array([maximum_likelihood(inverse, tally) for tally in drawn])
    return clusters_of(points, Values(metric.domain.labels), likeliest / likeliest.sum(), resampled)


def _points(metric: Metric) -> Floats | None:
    domain = metric.domain
    if isinstance(domain, Cross):
        first, second = _coordinates(domain.first), _coordinates(domain.second)
        return np.array([[*x, *y] for x in first for y in second])
    positions = positions_of(metric)
    is_line = positions is not None and len(domain.labels) == len(positions)
    return positions[:, np.newaxis] if positions is not None and is_line else None


def _coordinates(domain: Boolean | Category) -> Floats:
    """Return the positions of the answers to one of two questions, shape (k, d).

    Two of them are at most 1 apart. Answers on a scale lie on a line. Answers without an order are
    all equally far apart.
    """
    if isinstance(domain, Boolean | Ordinal):
        return np.linspace(0.0, 1.0, domain.size)[:, np.newaxis]
    corners: Floats = np.eye(domain.size) / np.sqrt(2)
    return corners
