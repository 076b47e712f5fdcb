"""The covariance of all estimated shares, for every channel."""

from __future__ import annotations

import numpy as np

from estimator.inverse.protocol import Inverse
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.simplex import nearest_shares

MOST_VALUES = 256
"""Values of which a covariance is made: what a report adds to each of them is held for every symbol, up to 128 MB."""


def covariance_of(inverse: Inverse, counts: Counts, reports: int) -> Floats:
    """Return the covariance of the unbiased shares, shape (k, k), for people sampled at random.

    An estimate is the mean of what the reports add to it. The law of a report is that of the population on the simplex
    nearest to the estimate, exactly.

    Args:
        inverse: the channel's.
        counts: of each symbol, shape (m,).
        reports: n, their sum, at least 1.

    """
    shares = inverse.shares(counts, reports)
    law = inverse.symbol_law(nearest_shares(shares))
    added = np.array([inverse.contrast(unit) for unit in np.eye(shares.size)])
    means = added @ law
    covariance: Floats = ((added * law) @ added.T - np.outer(means, means)) / reports
    return covariance
