"""The covariance of all estimated shares, for every channel."""

from __future__ import annotations

import numpy as np

from estimator.inverse.protocol import Inverse
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.simplex import nearest_shares

MOST_VALUES = 256
"""The most values of a covariance: the score of each value for every symbol is held, up to 128
MB."""


def covariance_of(inverse: Inverse, counts: Counts, reports: int) -> Floats:
    """Return the covariance of the unbiased shares, shape (k, k), for people sampled at random.

    An estimate is the mean of the scores of the reports. Their law is exactly that of the
    population on the simplex nearest to the estimate.

    Args:
        inverse: of the channel.
        counts: of each symbol, shape (m,).
        reports: n, their sum, at least 1.

    """
    shares = inverse.shares(counts, reports)
    law = inverse.symbol_law(nearest_shares(shares))
    score_table = np.array([inverse.contrast(unit) for unit in np.eye(shares.size)])
    means = score_table @ law
    covariance: Floats = ((score_table * law) @ score_table.T - np.outer(means, means)) / reports
    return covariance
