"""The exponential mechanism inverted: least squares of the table.

The weights of the equations are those of a uniform population, for which the result has the least variance of all
unbiased estimates (Aitken 1936; Kay 1993, "Fundamentals of statistical signal processing: estimation theory", section
6.4); it is unbiased in every population.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from client_sdk.protocol.mechanisms.exponential import TOTAL, Exponential
from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.confidence import EXACT_BELOW, FEW
from estimator.statistics.score_intervals import bounded_intervals, score_intervals
from estimator.statistics.simplex import nearest_shares


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The inverse of a channel that is a table.

    Attributes:
        law: the probability of each symbol given each input, shape (k, m).
        decoder: what a report of a symbol adds to the estimate of a share, shape (k, m).
        mean_squares: of what a report adds to the share of the column given the input of the row, shape (k, k).

    """

    law: Floats
    decoder: Floats
    mean_squares: Floats

    @classmethod
    def of(cls, law: Floats) -> Table:
        """Prepare the decoder of a law, and its second moments."""
        weighted = law / law.mean(axis=0)
        decoder = np.linalg.solve(weighted @ law.T, weighted)
        return cls(law, decoder, law @ decoder.T**2)

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        shares: Floats = (counts / reports) @ self.decoder.T
        return shares

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each estimated share, shape (..., k), for people sampled at random.

        It is that of the population on the simplex nearest to the estimate, exactly; so it is above 0.
        """
        shares = nearest_shares(self.shares(counts, reports))
        errors: Floats = np.sqrt((shares @ self.mean_squares - shares**2) / reports)
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' confidence intervals, each of shape (..., k), within 0..1.

        From 50 reports on those that a score test does not reject, with the largest variance over all populations that
        have the share. Of fewer reports, or where few of a symbol are expected, which a score test does not bear (at
        epsilon 8 and 100 reports its interval holds some truths in 84 %), those that hold at every truth.
        """
        shares = self.shares(counts, reports)
        own = np.diagonal(self.mean_squares)
        other = (self.mean_squares - np.diag(own)).max(axis=0)
        safe = bounded_intervals(shares, own, other, np.ptp(self.decoder, axis=1), reports, family)
        score = score_intervals(shares, own, other, reports, family)
        low, high = np.where(reports < max(EXACT_BELOW, FEW / self.law.min()), safe, score)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def contrast(self, weights: Floats) -> Floats:
        """Return what a report of each symbol adds to the estimate of a weighted sum of shares."""
        summed: Floats = weights @ self.decoder
        return summed

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the most that a report adds to each estimate, shape (k,)."""
        return self.decoder.min(axis=1), self.decoder.max(axis=1)

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), in a population of such shares."""
        law: Floats = shares @ self.law
        return law

    def expectations(self, scores: Floats) -> Floats:
        """Return what each input, shape (..., k), expects of a score of the symbol."""
        expected: Floats = scores @ self.law.T
        return expected


def inverse(channel: Exponential) -> Table:
    """Return the inverse of an exponential mechanism."""
    return Table.of(np.array(channel.weights, dtype=np.float64) / TOTAL)
