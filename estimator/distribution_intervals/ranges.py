"""The ranges of a grid, and estimates of the distribution function's mean over each range.

The scores of the integral of the distribution function are unbiased. An answer between two grid
points is rounded at random to one of them. The probability that it is rounded to point j or a lower
one is the mean of its step function over the cell from point j to point j + 1. The shares of the
grid's points, added up to j, are therefore exactly the mean of the distribution function F over
that cell, for every population. With counts, whose points are the answers, F is constant on a cell,
and the same is true.

The scores are the inverse of the channel with the smallest variance for some reference answers
(generalized least squares; Aitken 1936, "On least squares and linear combinations of
observations"). A tally of many reports uses the one of a few references under which it is
likeliest. Each of them is unbiased for every population, so the choice only narrows intervals.

Each mean of scores has a limit that is valid for every population, because the expectation of a
score, given each answer, lies between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.decoder import REMEMBERED, ChannelLaw
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import CONFIDENCE, EXACT_BELOW, tail_of, z_of
from estimator.statistics.intervals import bounded_intervals, score_intervals

ENOUGH = 10
"""Reports per unit of kurtosis from which a normal limit is used: fewer than for means, because it
is never narrower than Wilson's. `python -m benchmarks coverage` measures the coverage.
"""

SILENT = 1e-12
"""A smaller variance is rounding error: the score is the same for every symbol."""

WIDTHS: Final = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256])
"""The possible numbers of cells of a range. Finer steps narrowed intervals by less than 2%."""

REFERENCES: Final = ((1.0, 1.0), (0.5, 3.0), (3.0, 0.5))
"""The beta laws of the reference answers: evenly spread, mostly near the low end, mostly near the
high end. For skewed answers, the latter two reduce the standard error by 2 to 8% at epsilon 1, and
by 7 (square wave) to 28% (hierarchical) at epsilon 4.
"""

MANY: Final = 1000
"""The minimum number of reports with which a tally chooses its reference. With fewer, limits are
often Bernstein's, which are proved for scores that do not depend on the tally.
"""

Places = NDArray[np.int64]

DRAWS: Final = 2**15
"""Draws of the maximum of some normal variables, which determine its quantile to 0.01."""

SEED: Final = 3
"""The same tally has the same intervals on every run."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """The properties of scores that are known before any report: arrays of one shape.

    Attributes:
        least: the minimum variance of a score among people with the same answer.
        most: the maximum variance of a score among people with the same answer.
        span: the distance from the smallest to the largest score.
        enough: `ENOUGH` times the largest kurtosis among people with the same answer.

    """

    least: Floats
    most: Floats
    span: Floats
    enough: Floats

    @classmethod
    def from_scores(cls, law: ChannelLaw, scores: Floats) -> Noise:
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

    def at(self, *places: NDArray[np.int64]) -> Noise:
        """Return the noise of the scores at some places."""
        return Noise(self.least[places], self.most[places], self.span[places], self.enough[places])


def limits_of(
    law: ChannelLaw, counts: Counts, scores: Floats, family: int = 1, *, is_share: bool = True
) -> tuple[Floats, Floats]:
    """Return the limits of the expectations of scores, as `limits` does; each of shape (f,).

    Args:
        law: the law of the channel.
        counts: the count of each symbol, shape (m,), at least one above 0.
        scores: shape (m, f).
        family: the number of intervals that must be valid simultaneously.
        is_share: whether the expectation given any answer lies within 0..1, not within -1..1.

    """
    reports = int(counts.sum())
    means = counts @ scores / reports
    variances = np.maximum(counts @ scores**2 / reports - means**2, 0.0)
    return limits(means, variances, Noise.from_scores(law, scores), reports, family, is_share=is_share)


def limits(  # noqa: PLR0913 what is known of the scores, and of the interval
    means: Floats, variances: Floats, noise: Noise, reports: int, family: float = 1, *, is_share: bool = True
) -> tuple[Floats, Floats]:
    """Return the lower and the upper limits of the expectations of scores, not clipped.

    Each limit has half of the interval's error. With few reports it is Bernstein's, which is valid
    for every law of the score (see `bounded_intervals`). From `EXACT_BELOW` reports on, if they are
    enough for the score's kurtosis, it is the normal one with the observed variance. For a share it
    is never nearer than Wilson's, whose variance at a hypothetical share p is the minimum noise
    plus p (1 - p): a tally of few reports may contain none with a rare answer.

    Args:
        means: the means of the scores over the reports.
        variances: the variances of the scores over the reports.
        noise: the noise of the scores.
        reports: n, at least 1.
        family: the number of intervals that must be valid simultaneously.
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
    means: Floats, variances: Floats, noise: Noise, reports: int, family: float, *, is_share: bool
) -> tuple[Floats, Floats]:
    """Return the normal limits with the observed variance; for a share no nearer than Wilson's."""
    reach = z_of(family) * np.sqrt(np.maximum(variances, noise.least) / reports)
    low, high = means - reach, means + reach
    if not is_share:
        return low, high
    least, most = score_intervals(means, noise.least + 1, noise.least, reports, family)
    return np.minimum(low, least), np.maximum(high, most)


def _bernstein(means: Floats, noise: Noise, reports: int, family: float, *, is_share: bool) -> tuple[Floats, Floats]:
    """Return limits that are valid for every law of the score."""
    return bounded_intervals(means, noise.most + 1, noise.most + (not is_share), noise.span, reports, family)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of a channel with k inputs, the points of a grid, and m symbols.

    Attributes:
        shares: the unbiased score of each symbol for the share of each input, shape (m, k).
        integrals: the score of each symbol for the integral of F from the first point to point b,
            in cells, for b = 0..k; shape (m, k + 1). Beyond the last point F is 1.

    """

    shares: Floats
    integrals: Floats

    @staticmethod
    def from_histogram(histogram: Histogram, reference: int) -> Scores:
        """Return the scores of a histogram's channel with the smallest variance for a reference."""
        law = histogram.law.symbol_law(np.eye(histogram.points.size))
        weighted = law / reference_laws(histogram)[reference]
        shares = np.linalg.solve(weighted @ law.T, weighted).T
        sums = np.cumsum(np.cumsum(shares, axis=1), axis=1)
        return Scores(shares, np.concatenate([np.zeros((len(sums), 1)), sums], axis=1))

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each symbol, shape (m,), for a weighted sum of shares, shape (k,)."""
        score: Floats = self.shares @ weights
        return score


@lru_cache(maxsize=REMEMBERED)
def reference_laws(histogram: Histogram) -> Floats:
    """Return the probability of each symbol for each of the `REFERENCES`, shape (references, m)."""
    places = (np.arange(histogram.points.size) + 0.5) / histogram.points.size
    densities = np.array([places ** (low - 1) * (1 - places) ** (high - 1) for low, high in REFERENCES])
    return histogram.law.symbol_law(densities / densities.sum(axis=1, keepdims=True))


def reference_of(histogram: Histogram, counts: Counts) -> int:
    """Return the index of the reference under which a tally is likeliest."""
    return int((np.log(reference_laws(histogram)) @ counts).argmax())


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The ranges of each width on one side of each point: arrays of shape (widths, points).

    Attributes:
        starts: where a range begins, from 0 to k.
        stops: where it ends, from 0 to k.
        beyond: its cells beyond the last point, where F is 1. (Before the first point, F is 0.)
        noise: the noise of the score for the mean over the range.

    """

    starts: Places
    stops: Places
    beyond: Places
    noise: Noise

    @classmethod
    def from_places(cls, histogram: Histogram, integrals: Floats, firsts: Places) -> Side:
        """Return the ranges that begin at some places, shape (widths, points)."""
        last = integrals.shape[1] - 1
        stops = firsts + WIDTHS[:, np.newaxis]
        starts, stops, beyond = np.clip(firsts, 0, last), np.clip(stops, 0, last), np.maximum(stops - last, 0)
        noises = [Noise.from_scores(histogram.law, row) for row in _scores(integrals, starts, stops, beyond)]
        columns = (
            np.array(column) for column in zip(*((n.least, n.most, n.span, n.enough) for n in noises), strict=True)
        )
        return cls(starts, stops, beyond, Noise(*columns))

    def means(self, integrals: Floats) -> Floats:
        """Return the mean of F over each range from its integrals, shape (k + 1,)."""
        sums = integrals[self.stops] - integrals[self.starts] + self.beyond
        means: Floats = sums / WIDTHS[:, np.newaxis]
        return means

    def variances(self, covariance: Floats) -> Floats:
        """Return the variance of each range's score from the covariance of the integrals'."""
        own = np.diag(covariance)
        sums = own[self.starts] + own[self.stops] - 2 * covariance[self.starts, self.stops]
        variances: Floats = np.maximum(sums, 0.0) / WIDTHS[:, np.newaxis] ** 2
        return variances


def _scores(integrals: Floats, starts: Places, stops: Places, beyond: Places) -> Iterator[Floats]:
    """Yield the scores of the ranges of each width, shape (m, points)."""
    for width, start, stop, more in zip(WIDTHS, starts, stops, beyond, strict=True):
        yield (integrals[:, stop] - integrals[:, start] + more) / width


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """All ranges of a histogram's grid.

    Attributes:
        points: the answers at the k points, rising.
        scores: the scores of the channel.
        after: the ranges that begin at each point. Their means are not below F there.
        before: those that end at each point; for counts, one cell later, because F keeps its value
            until the next count. Their means are not above F there.
        tests: the effective number of independent tests among those of all ranges at a point.

    """

    histogram: Histogram
    points: Floats
    scores: Scores
    after: Side
    before: Side
    tests: float

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def from_histogram(histogram: Histogram, reference: int) -> Ranges:
        """Return the ranges of a histogram for a reference, cached for the next window."""
        scores = Scores.from_histogram(histogram, reference)
        points = histogram.points
        places = np.arange(points.size)
        widths = WIDTHS[:, np.newaxis]
        return Ranges(
            histogram,
            points,
            scores,
            Side.from_places(histogram, scores.integrals, places + np.zeros_like(widths)),
            Side.from_places(histogram, scores.integrals, places + histogram.is_of_points - widths),
            joint_tests(scores.integrals, reference_laws(histogram)[reference]),
        )


def joint_tests(integrals: Floats, law: Floats) -> float:
    """Return the effective number of independent tests of the ranges at the first point.

    No other point has more ranges on the grid. If F is constant, the largest of their deviations,
    in standard errors, is the maximum of correlated normal variables. Half of the interval's error
    divided by the returned number is the level of a test beyond the maximum's 95% quantile.

    Args:
        integrals: the scores of the integrals of F, shape (m, k + 1).
        law: the law of the symbols of the reference answers, shape (m,). Others change little.

    """
    within = integrals[:, WIDTHS[integrals.shape[1] > WIDTHS]]
    deviations = (within - law @ within) * np.sqrt(law)[:, np.newaxis]
    deviations /= np.sqrt((deviations**2).sum(axis=0))
    root = np.linalg.qr(deviations, mode="r")
    largest = (np.random.default_rng(SEED).standard_normal((DRAWS, len(root))) @ root).max(axis=1)
    return max(1.0, tail_of(1) / NormalDist().cdf(-float(np.quantile(largest, CONFIDENCE))))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One side's ranges in a tally; arrays of shape (widths, points).

    Attributes:
        fitted: the mean of F over each range if the fitted histogram were true.
        means: the unbiased estimate.
        variances: the variances of a report's score.
        noise: the noise of the scores.
        errors: the standard errors, above 0.

    """

    fitted: Floats
    means: Floats
    variances: Floats
    noise: Noise
    reports: int
    errors: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Compute the errors, which every interval of the tally compares."""
        errors = np.sqrt(np.maximum(self.variances, self.noise.least + SILENT) / self.reports)
        object.__setattr__(self, "errors", errors)

    def nearest(self, family: float) -> tuple[Floats, Floats]:
        """Return the nearest limits of all widths at each point, shape (points,)."""
        lows, highs = limits(self.means, self.variances, self.noise, self.reports, family)
        return lows.max(axis=0), highs.min(axis=0)

    def limits(self, chosen: Places, family: int) -> tuple[Floats, Floats]:
        """Return the limits of the chosen width at each point, not clipped: shape (..., points)."""
        places = chosen, np.arange(chosen.shape[-1])
        return limits(self.means[places], self.variances[places], self.noise.at(*places), self.reports, family)


@dataclass(frozen=True, slots=True, eq=False)
class TallyRanges:
    """The ranges of one tally."""

    ranges: Ranges
    counts: Counts
    after: Seen
    before: Seen

    @classmethod
    def from_counts(cls, histogram: Histogram, counts: Counts, smoothed: Floats) -> TallyRanges:
        """Return the ranges of a tally with reports.

        Args:
            histogram: its bins, and the law of the mechanism given each bin.
            counts: the count of each symbol, shape (symbols,).
            smoothed: the fitted shares of the bins, used to choose ranges, shape (bins,).

        """
        reports = int(counts.sum())
        ranges = Ranges.from_histogram(histogram, reference_of(histogram, counts) if reports >= MANY else 0)
        integrals = ranges.scores.integrals
        frequencies = counts / reports
        fitted, means = histogram.symbol_law(smoothed) @ integrals, frequencies @ integrals
        covariance = integrals.T @ (frequencies[:, np.newaxis] * integrals) - np.outer(means, means)
        after, before = (
            Seen(side.means(fitted), side.means(means), side.variances(covariance), side.noise, reports)
            for side in (ranges.after, ranges.before)
        )
        return cls(ranges, counts, after, before)

    def chosen(self, family: int) -> tuple[Places, Places]:
        """Return the widths with the narrowest expected limits at each point, above and below."""
        z, after, before = z_of(family), self.after, self.before
        rising = (after.fitted + z * after.errors).argmin(axis=0)
        falling = (before.fitted - z * before.errors).argmax(axis=0)
        return rising, falling

    def limits_of(self, scores: Floats, family: int = 1, *, is_share: bool = True) -> tuple[Floats, Floats]:
        """Return limits of the expectations of scores, shape (symbols, f); each of shape (f,)."""
        return limits_of(self.ranges.histogram.law, self.counts, scores, family, is_share=is_share)
