"""The covariance of all estimated shares, for every channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.decoders.protocol import Inverse
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.simplex import nearest_shares

MOST_VALUES = 256
"""The most values of a covariance: the score of each value for every symbol is held, up to 128
MB.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The scores of the reports of a tally.

    Attributes:
        scores: of each share for each symbol, shape (k, m).
        counts: of each symbol, shape (m,).

    """

    scores: Floats
    counts: Counts

    @classmethod
    def of(cls, inverse: Inverse, counts: Counts) -> Sample:
        """Return the sample of a channel of k inputs."""
        inputs = inverse.shares(counts, 1).size
        return cls(np.array([inverse.contrast(unit) for unit in np.eye(inputs)]), counts)

    @property
    def reports(self) -> int:
        """n, the sum of the counts."""
        return int(self.counts.sum())

    def covariance(self, inverse: Inverse) -> Floats:
        """Return the covariance of the unbiased shares, shape (k, k), for people sampled at random.

        An estimate is the mean of the scores of the reports. Their law is exactly that of the
        population on the simplex nearest to the estimate.

        Args:
            inverse: of the channel.

        """
        law = inverse.symbol_law(nearest_shares(inverse.shares(self.counts, self.reports)))
        means = self.scores @ law
        covariance: Floats = ((self.scores * law) @ self.scores.T - np.outer(means, means)) / self.reports
        return covariance
