"""Which histograms of a report have clusters, where their answers lie, and how their tallies are drawn anew."""

from __future__ import annotations

import numpy as np

from client_sdk.protocol import Boolean, Cross, Metric, Ordinal
from client_sdk.protocol.domain.category import Category
from estimator.estimates.k_means import Bins, Values, clusters_of
from estimator.estimates.mean_scale import positions_of
from estimator.inverse.protocol import Inverse
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.clusters import Clusters
from estimator.statistics.arrays import Counts, Floats

MOST_POINTS = 256
"""Values that are clustered: the distances of all pairs of them are held."""

RESAMPLES = 50
"""Tallies drawn anew: one beyond each end of an interval of 95 %. Each is split in every way."""

SEED = 2
"""The same tally gets the same clusters on every run."""


def clusters_of_histogram(histogram: Histogram, fit: Fit) -> Clusters:
    """Return the clusters of a number's answers.

    Args:
        histogram: its bins, and the law of the mechanism given them.
        fit: what the tally, and those drawn anew, are fitted by.

    """
    points = (histogram.lows + histogram.highs)[:, np.newaxis] / 2
    return clusters_of(points, Bins(histogram.lows, histogram.highs), fit.smoothed, fit.again[:RESAMPLES])


def clusters_of_values(metric: Metric, inverse: Inverse, counts: Counts, likeliest: Floats) -> Clusters | None:
    """Return the clusters of a scale's, a count's or a pair's answers; of other kinds, and of too many values, none.

    Args:
        metric: the question.
        inverse: its channel's.
        counts: the count of each symbol.
        likeliest: the shares of its inputs, shape (k,).

    """
    points = _points(metric)
    if points is None or len(points) > MOST_POINTS:
        return None
    law = inverse.symbol_law(likeliest)
    drawn = np.random.default_rng(SEED).multinomial(int(counts.sum()), law / law.sum(), size=RESAMPLES)
    again = np.array([maximum_likelihood(inverse, one) for one in drawn])
    return clusters_of(points, Values(metric.domain.labels), likeliest / likeliest.sum(), again)


def _points(metric: Metric) -> Floats | None:
    domain = metric.domain
    if isinstance(domain, Cross):
        first, second = _coordinates(domain.first), _coordinates(domain.second)
        return np.array([[*one, *other] for one in first for other in second])
    positions = positions_of(metric)
    is_line = positions is not None and len(domain.labels) == len(positions)
    return positions[:, np.newaxis] if positions is not None and is_line else None


def _coordinates(domain: Boolean | Category) -> Floats:
    """Return where the answers to one of two questions lie: two that differ are at most 1 apart, shape (k, d).

    Answers on a scale lie on a line; those of which none is between others are all equally far apart.
    """
    if isinstance(domain, Boolean | Ordinal):
        return np.linspace(0.0, 1.0, domain.size)[:, np.newaxis]
    corners: Floats = np.eye(domain.size) / np.sqrt(2)
    return corners
