"""The limits of the mean of a score whose expectation given each answer lies between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.protocol import ChannelLaw
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.binomial_intervals import bounded_intervals, score_intervals
from estimator.statistics.confidence import EXACT_BELOW, z_of

ENOUGH = 10
"""Reports per unit of kurtosis from which a normal limit is taken: fewer than for means, because
Wilson's limit stands beside it. `python -m benchmarks coverage` measures what that gives.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """What is known of scores before any report: all of one shape.

    Attributes:
        least: the least variance of a score among people with the same answer.
        most: the greatest.
        span: the distance from the least to the greatest score.
        enough: `ENOUGH` times the largest kurtosis among people with the same answer.

    """

    least: Floats
    most: Floats
    span: Floats
    enough: Floats

    @classmethod
    def of(cls, law: ChannelLaw, scores: Floats) -> Noise:
        """Return the noise of scores of shape (m, f), each attribute of shape (f,)."""
        first = scores.T
        second = first * first  # numpy's powers of 3 and 4 take five times as long as a product
        moments = (first, second, second * first, second * second)
        means, squares, cubes, fourths = (law.expectations(moment) for moment in moments)
        mean_squares = means * means
        variances = np.maximum(squares - mean_squares, 0.0)
        central = fourths - 4 * means * cubes + 3 * mean_squares * (2 * squares - mean_squares)
        kurtosis = np.where(variances > SILENT, central / np.maximum(variances, SILENT) ** 2, 0.0)
        return cls(variances.min(axis=1), variances.max(axis=1), np.ptp(scores, axis=0), ENOUGH * kurtosis.max(axis=1))

    @classmethod
    def stacked(cls, rows: Sequence[Noise]) -> Noise:
        """Return the noise of rows of scores, with a leading axis for the rows."""
        columns = zip(*((row.least, row.most, row.span, row.enough) for row in rows), strict=True)
        return cls(*map(np.array, columns))

    def at(self, *places: NDArray[np.int64]) -> Noise:
        """Return the noise of the scores at some places."""
        return Noise(self.least[places], self.most[places], self.span[places], self.enough[places])


SILENT = 1e-12
"""A variance below it is rounding error: the score is the same for every symbol."""


def limits_of(
    law: ChannelLaw, counts: Counts, scores: Floats, family: int = 1, *, is_share: bool = True
) -> tuple[Floats, Floats]:
    """Return the limits of the expectations of scores, as `limits` does; each of shape (f,).

    Args:
        law: of the channel.
        counts: of each symbol, shape (m,), at least one above 0.
        scores: shape (m, f).
        family: the number of intervals that are to hold together.
        is_share: whether the expectation given any answer lies within 0..1, not within -1..1.

    """
    reports = int(counts.sum())
    means = counts @ scores / reports
    variances = np.maximum(counts @ scores**2 / reports - means**2, 0.0)
    return limits(means, variances, Noise.of(law, scores), reports, family, is_share=is_share)


def limits(  # noqa: PLR0913 what is known of the scores, and of the interval
    means: Floats, variances: Floats, noise: Noise, reports: int, family: int = 1, *, is_share: bool = True
) -> tuple[Floats, Floats]:
    """Return the lower and the upper limits of the expectations of scores, not clipped.

    Each limit holds with half of the interval's error. With few reports it is Bernstein's, which
    holds for every law of the score (see `bounded_intervals`). From `EXACT_BELOW` reports on, if
    they are enough for the score's kurtosis, it is the normal one with the observed variance. For a
    share it is never nearer than Wilson's, whose variance at a hypothetical share p is the least
    noise and p (1 - p): a tally of few reports may hold none of a rare answer.

    Args:
        means: of the scores over the reports.
        variances: of the scores over the reports.
        noise: of the scores.
        reports: n, at least 1.
        family: the number of intervals that are to hold together.
        is_share: whether the expectation given any answer lies within 0..1, not within -1..1.

    """
    is_few = reports < np.maximum(EXACT_BELOW, noise.enough)
    if is_few.all():
        return _bernstein(means, noise, reports, family, is_share=is_share)
    normal = _normal(means, variances, noise, reports, family, is_share=is_share)
    if not is_few.any():
        return normal
    safe = _bernstein(means, noise, reports, family, is_share=is_share)
    return np.where(is_few, safe[0], normal[0]), np.where(is_few, safe[1], normal[1])


def _normal(  # noqa: PLR0913 as limits
    means: Floats, variances: Floats, noise: Noise, reports: int, family: int, *, is_share: bool
) -> tuple[Floats, Floats]:
    """Return the normal limits with the observed variance; for a share no nearer than Wilson's."""
    reach = z_of(family) * np.sqrt(np.maximum(variances, noise.least) / reports)
    low, high = means - reach, means + reach
    if not is_share:
        return low, high
    least, most = score_intervals(means, noise.least + 1, noise.least, reports, family)
    return np.minimum(low, least), np.maximum(high, most)


def _bernstein(means: Floats, noise: Noise, reports: int, family: int, *, is_share: bool) -> tuple[Floats, Floats]:
    """Return the limits that hold for every law of the score."""
    return bounded_intervals(means, noise.most + 1, noise.most + (not is_share), noise.span, reports, family)
