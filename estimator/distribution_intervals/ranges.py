"""The ranges of a grid, and estimates of the distribution function's mean over each range.

F is the distribution function of the answers: F(x) is the share of answers up to x. A cell lies
between two neighboring points of the grid. A range consists of some successive cells. The mean
score of the reports is an unbiased estimate of the mean of F over a range, for this reason:

* A device rounds an answer between two points at random to one of them.
* The distribution function of this one answer steps from 0 to 1 at the answer.
* The probability of rounding to point j or lower is the mean of this step function over the cell
  from point j to point j + 1.
* For every population, the total share of the points up to j is therefore the mean of F over this
  cell. For counts, F is constant within a cell, and the same statement is true.

Many scores are unbiased. The scores here have the smallest variance in a reference population, such
as evenly spread answers. Source: generalized least squares (Aitken 1936, "On least squares and
linear combinations of observations"). A tally of many reports uses the reference population with
the highest likelihood. The choice affects only the width of intervals.

Limits are valid for every population, because the expected score of a report is from 0 to 1 for any
answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.decoder import REMEMBERED, ChannelLaw
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.confidence import CONFIDENCE, EXACT_BELOW, tail_of, z_of
from estimator.statistics.intervals import bounded_intervals, score_intervals

ENOUGH = 10
"""The minimum number of reports for a normal limit, as a multiple of the score's kurtosis.

The mean of a number requires more reports (`estimator.analyses.means.ENOUGH`). Limits of a
distribution function require fewer, because their intervals are never narrower than Wilson's
interval. `python -m benchmarks coverage` measures the coverage.
"""

SILENT = 1e-12
"""The variance below which a score counts as constant. Smaller variances are rounding errors."""

WIDTHS: Final = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256])
"""The possible widths of a range, in cells. More widths would narrow intervals by less than 2%."""

REFERENCES: Final = ((1.0, 1.0), (0.5, 3.0), (3.0, 0.5))
"""The reference populations, as parameters of a beta distribution over the range.

Answers are spread evenly in the first population. Answers are mostly near the low end in the second
population, and near the high end in the third. For skewed answers, a skewed reference reduces the
standard error by 2 to 8% at epsilon 1. At epsilon 4, the reduction is 7% (square-wave) to 28%
(hierarchical).
"""

MANY: Final = 1000
"""The minimum number of reports for selecting a reference population from the tally.

With fewer reports, limits often follow from Bernstein's inequality. Such limits are proved only for
scores that do not depend on the tally.
"""

LUCK: Final = 0.5
"""The smallest deviation of an estimate, in standard errors, that counts as luck.

`Ranges.useful` omits a test that could reject a quantile's probability only by luck. By chance, an
estimate deviates by at least 0.5 standard errors in a given direction with a probability of 31%.
With a smaller number, some intervals would be wider.
"""

Places = NDArray[np.int64]

DRAWS: Final = 2**15
"""The number of random draws in `joint_tests`, enough to estimate a 95% quantile within 0.01."""

SEED: Final = 3
"""The fixed seed of the draws, so that a tally has the same intervals in every report."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """The variation of scores among people with the same answer.

    This variation depends only on the channel.

    All arrays have the same shape, with one entry for each score.

    Attributes:
        least: the smallest variance of the score among people with the same answer.
        most: the largest variance of the score among people with the same answer.
        span: the largest score of a symbol minus the smallest score.
        enough: `ENOUGH` times the largest kurtosis of the score among people with the same answer.
    """

    least: Floats
    most: Floats
    span: Floats
    enough: Floats

    @classmethod
    def from_scores(cls, law: ChannelLaw, scores: Floats) -> Noise:
        """Return the noise of f scores, given the score of each symbol, shape (m, f)."""
        first = scores.T
        second = first * first  # numpy's powers of 3 and 4 take five times as long as a product
        moments = (first, second, second * first, second * second)
        means, squares, cubes, fourths = (law.expectations(moment) for moment in moments)
        mean_squares = means * means
        variances = np.maximum(squares - mean_squares, 0.0)
        central = fourths - 4 * means * cubes + 3 * mean_squares * (2 * squares - mean_squares)
        kurtosis = np.where(variances > SILENT, central / np.maximum(variances, SILENT) ** 2, 0.0)
        return cls(variances.min(axis=1), variances.max(axis=1), np.ptp(scores, axis=0), ENOUGH * kurtosis.max(axis=1))

    def at(self, *places: NDArray[np.int64] | slice) -> Noise:
        """Return the noise of only the scores with the given indices."""
        return Noise(self.least[places], self.most[places], self.span[places], self.enough[places])


def limits_of(
    law: ChannelLaw, counts: Counts | Floats, scores: Floats, family: int = 1, *, is_share: bool = True
) -> tuple[Floats, Floats]:
    """Return confidence limits for the expected values of f scores, each of shape (f,).

    Args:
        law: the distribution of the channel's symbols.
        counts: the count of each symbol, shape (m,). At least one count is above 0.
        scores: f scores for each symbol, shape (m, f).
        family: the number of simultaneous 95% intervals.
        is_share: whether the expected score lies within 0..1 for every answer. If not, the
            expected score must lie within -1..1.
    """
    reports = int(counts.sum())
    means = counts @ scores / reports
    variances = np.maximum(counts @ scores**2 / reports - means**2, 0.0)
    return limits(means, variances, Noise.from_scores(law, scores), reports, family, is_share=is_share)


def limits(  # noqa: PLR0913 all data about the scores and the interval
    means: Floats, variances: Floats, noise: Noise, reports: Reports, family: float = 1, *, is_share: bool = True
) -> tuple[Floats, Floats]:
    """Return unclipped lower and upper confidence limits for the expected values of scores.

    For each limit, the probability of an error is at most half of the interval's error probability.

    * With few reports, the result is Bernstein's limit, which is valid for every distribution of
      the score (see `bounded_intervals`).
    * The normal limit requires at least `EXACT_BELOW` and at least `Noise.enough` reports. A tally
      may lack rare answers. The normal interval of a share is therefore never narrower than
      Wilson's. For each share p, Wilson's interval assumes that the variance of a score is the
      minimum noise plus p (1 - p), the variance of the answers.

    Args:
        means: the mean of each score over the reports.
        variances: the variance of each score over the reports.
        noise: the noise of the scores.
        reports: n, the number of reports, at least 1.
        family: the number of simultaneous 95% intervals.
        is_share: whether the expected score lies within 0..1 for every answer. If not, the
            expected score must lie within -1..1.
    """
    is_few = reports < np.maximum(EXACT_BELOW, noise.enough)
    if is_few.all():
        return _bernstein(means, noise, reports, family, is_share=is_share)
    normal = _normal(means, variances, noise, reports, family, is_share=is_share)
    if not is_few.any():
        return normal
    safe = _bernstein(means, noise, reports, family, is_share=is_share)
    return np.where(is_few, safe[0], normal[0]), np.where(is_few, safe[1], normal[1])


def _normal(  # noqa: PLR0913 like limits
    means: Floats, variances: Floats, noise: Noise, reports: Reports, family: float, *, is_share: bool
) -> tuple[Floats, Floats]:
    """Return normal limits from the observed variance. For shares, they enclose Wilson's limits."""
    reach = z_of(family) * np.sqrt(np.maximum(variances, noise.least) / reports)
    low, high = means - reach, means + reach
    if not is_share:
        return low, high
    least, most = score_intervals(means, noise.least + 1, noise.least, reports, family)
    return np.minimum(low, least), np.maximum(high, most)


def _bernstein(
    means: Floats, noise: Noise, reports: Reports, family: float, *, is_share: bool
) -> tuple[Floats, Floats]:
    return bounded_intervals(means, noise.most + 1, noise.most + (not is_share), noise.span, reports, family)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of a channel's m symbols. The k inputs of the channel are the points of a grid.

    F is the distribution function of the answers.

    Attributes:
        shares: the score of each symbol for the share of each input, shape (m, k).
        integrals: the score of each symbol for the integral of F from point 0 to point b, for b =
            0..k, shape (m, k + 1). The unit of length is a cell. After the last point, there is one
            more cell, in which F = 1.
    """

    shares: Floats
    integrals: Floats

    @staticmethod
    def from_histogram(histogram: Histogram, reference: int) -> Scores:
        """Return the scores with the smallest variance in one of the reference populations.

        ``reference`` is the index of this population in `REFERENCES`.
        """
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


def reference_of(histogram: Histogram, counts: Counts | Floats) -> int:
    """Return the index of the reference population with the highest likelihood."""
    return int((np.log(reference_laws(histogram)) @ counts).argmax())


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The ranges of each width on one side of each point, as arrays of shape (widths, points).

    Attributes:
        starts: the index of each range's first point, from 0 to k.
        stops: the index of each range's last point, from 0 to k.
        beyond: the number of each range's cells after the last point of the grid. In these cells,
            the distribution function is 1.
        noise: the noise of the scores for the mean of the distribution function over each range.
    """

    starts: Places
    stops: Places
    beyond: Places
    noise: Noise

    @classmethod
    def from_places(cls, histogram: Histogram, integrals: Floats, firsts: Places) -> Side:
        """Return the ranges that begin at the points ``firsts``, of shape (widths, points)."""
        last = integrals.shape[1] - 1
        stops = firsts + WIDTHS[:, np.newaxis]
        starts, stops, beyond = np.clip(firsts, 0, last), np.clip(stops, 0, last), np.maximum(stops - last, 0)
        noises = [Noise.from_scores(histogram.law, row) for row in _scores(integrals, starts, stops, beyond)]
        columns = (
            np.array(column) for column in zip(*((n.least, n.most, n.span, n.enough) for n in noises), strict=True)
        )
        return cls(starts, stops, beyond, Noise(*columns))

    def means(self, integrals: Floats) -> Floats:
        """Return the mean of the distribution function over each range.

        ``integrals`` contains the integral of the distribution function up to each point.
        """
        sums = integrals[self.stops] - integrals[self.starts] + self.beyond
        means: Floats = sums / WIDTHS[:, np.newaxis]
        return means

    def variances(self, covariance: Floats) -> Floats:
        """Return the variance of each range's score, from the covariance of the integral scores."""
        own = np.diag(covariance)
        sums = own[self.starts] + own[self.stops] - 2 * covariance[self.starts, self.stops]
        variances: Floats = np.maximum(sums, 0.0) / WIDTHS[:, np.newaxis] ** 2
        return variances


def _scores(integrals: Floats, starts: Places, stops: Places, beyond: Places) -> Iterator[Floats]:
    """Yield, for each width, the scores of the ranges of this width, shape (m, points)."""
    for width, start, stop, more in zip(WIDTHS, starts, stops, beyond, strict=True):
        yield (integrals[:, stop] - integrals[:, start] + more) / width


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """All ranges of a histogram's grid, with scores for the distribution function F.

    Attributes:
        histogram: the bins between the points.
        points: the answers at the k points, in rising order.
        scores: the scores for the mean of F over each range.
        after: the ranges that begin at each point. The mean of F over such a range is at least the
            value of F at the point.
        before: the ranges that end at each point. The mean of F over such a range is at most the
            value of F at the point. For counts, the ranges end one cell later, because F keeps its
            value until the next count.
        tests: for each width, the result of `joint_tests` for ranges of at least this width, shape
            (widths,).
        deviations: for each width, the standard deviation of a report's score in the reference
            population, shape (widths,).
    """

    histogram: Histogram
    points: Floats
    scores: Scores
    after: Side
    before: Side
    tests: Floats
    deviations: Floats

    @staticmethod
    @lru_cache(maxsize=REMEMBERED)
    def from_histogram(histogram: Histogram, reference: int) -> Ranges:
        """Return the ranges of a histogram for a reference population."""
        scores = Scores.from_histogram(histogram, reference)
        points = histogram.points
        places = np.arange(points.size)
        widths = WIDTHS[:, np.newaxis]
        law = reference_laws(histogram)[reference]
        return Ranges(
            histogram,
            points,
            scores,
            Side.from_places(histogram, scores.integrals, places + np.zeros_like(widths)),
            Side.from_places(histogram, scores.integrals, places + histogram.is_of_points - widths),
            joint_tests(scores.integrals, law),
            deviations_of(scores.integrals, law),
        )

    def useful(self, reach: float, reports: int, family: int) -> int:
        """Return the index of the smallest width whose test of a quantile's probability is useful.

        If the half-width of a range's interval exceeds ``reach`` by more than `LUCK` standard
        errors, the test of this range can reject the probability only by luck. If this test is
        omitted, the other tests get a larger part of the error probability. The choice of tests
        depends on the counts only through the reference population, so the intervals stay valid. If
        all tests can reject only by luck, all widths are used.

        Args:
            reach: the distance from the quantile's probability to 0 (for a lower end) or to 1 (for
                an upper end).
            reports: the number of reports, at least 1.
            family: the number of simultaneous 95% intervals.
        """
        needed = np.array([z_of(family * tests) - LUCK for tests in self.tests.tolist()]) * self.deviations
        can_reject = needed <= reach * math.sqrt(reports)
        return int(can_reject.argmax())


def deviations_of(integrals: Floats, law: Floats) -> Floats:
    """Return, for each width, the standard deviation of the score of one range, shape (widths,).

    The range begins at the first point. If its width exceeds the grid, the range is the whole grid.

    Args:
        integrals: the scores of the distribution function's integrals, shape (m, k + 1).
        law: the probability of each symbol in the reference population, shape (m,).
    """
    widths = np.minimum(WIDTHS, integrals.shape[1] - 1)
    means = integrals[:, widths] / widths
    deviations: Floats = np.sqrt(law @ (means - law @ means) ** 2)
    return deviations


def joint_tests(integrals: Floats, law: Floats) -> Floats:
    """Return, for each width, the divisor of a test's error probability, shape (widths,).

    A quantile's test at a point consists of one test for each range of at least a given width. The
    quantile's test errs if any of these tests errs. These tests are strongly correlated, so their
    number (Bonferroni) would be too large a divisor. For instance, for `square-wave` at epsilon 1
    on 33 points, the divisor for 10 tests is 2.6.

    The computation uses the ranges that begin at the first point, because no other point has more
    ranges. The distribution function is assumed to be constant. The largest deviation of the
    estimates, in standard errors, is then the maximum of correlated normal variables. Random draws
    give its 95% quantile. The error probability of each test is the probability that a single
    normal variable exceeds this quantile. The result is 2.5% (the error probability of one end)
    divided by the error probability of each test. Widths that exceed the grid get the divisor 1.

    Args:
        integrals: the scores of the distribution function's integrals, shape (m, k + 1).
        law: the probability of each symbol in the reference population, shape (m,). Other
            populations would hardly change the result.
    """
    within = integrals[:, WIDTHS[integrals.shape[1] > WIDTHS]]
    deviations = (within - law @ within) * np.sqrt(law)[:, np.newaxis]
    deviations /= np.sqrt((deviations**2).sum(axis=0))
    root = np.linalg.qr(deviations, mode="r")
    drawn = np.random.default_rng(SEED).standard_normal((DRAWS, len(root))) @ root
    largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
    quantiles = np.quantile(largest, CONFIDENCE, axis=0)
    tests = [max(1.0, tail_of(1) / NormalDist().cdf(-each)) for each in quantiles.tolist()]
    return np.array(tests + [1.0] * (WIDTHS.size - len(tests)))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The estimates of one tally for the ranges before each point, or for those after each point.

    Arrays have shape (widths, points), with one entry for each range. F is the distribution
    function of the answers.

    Attributes:
        fitted: the mean of F over each range, according to the fitted histogram.
        means: the unbiased estimate of the mean of F over each range.
        variances: the variance of a report's score for each range.
        noise: the noise of the scores.
        reports: the number of reports, or an array with the number for each range.
        errors: the standard error of each estimate, above 0.
    """

    fitted: Floats
    means: Floats
    variances: Floats
    noise: Noise
    reports: Reports
    errors: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Compute the standard errors only once."""
        errors = np.sqrt(np.maximum(self.variances, self.noise.least + SILENT) / self.reports)
        object.__setattr__(self, "errors", errors)

    def nearest(self, family: float, first: int) -> tuple[Floats, Floats]:
        """Return the largest lower limit and the smallest upper limit at each point.

        Only ranges with a width of at least ``WIDTHS[first]`` are used.
        """
        wide = slice(first, None)
        reports = self.reports if isinstance(self.reports, int) else self.reports[wide]
        lows, highs = limits(self.means[wide], self.variances[wide], self.noise.at(wide), reports, family)
        return lows.max(axis=0), highs.min(axis=0)

    def limits(self, chosen: Places, family: int) -> tuple[Floats, Floats]:
        """Return unclipped limits of the distribution function at each point.

        At each point, the limits come from the range of the chosen width.
        """
        places = chosen, np.arange(chosen.shape[-1])
        return limits(self.means[places], self.variances[places], self.noise.at(*places), self.reports, family)


@dataclass(frozen=True, slots=True, eq=False)
class TallyRanges:
    """A tally, with its estimates for the ranges after and before each point of the grid."""

    ranges: Ranges
    counts: Counts | Floats
    after: Seen
    before: Seen

    @classmethod
    def from_counts(cls, histogram: Histogram, counts: Counts | Floats, smoothed: Floats) -> TallyRanges:
        """Return the ranges of a tally that contains reports.

        Args:
            histogram: the bins, and the probability of each symbol for the answers in each bin.
            counts: the count of each symbol, shape (symbols,). A weighted mean of tallies has
                fractional counts.
            smoothed: the fitted shares of the bins for choosing ranges, shape (bins,).
        """
        reports = round(float(counts.sum()))
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
        """Return, for each point, the width of the range with the tightest expected limit.

        The first result is for upper limits of the distribution function, the second for lower
        limits. Both results contain an index in `WIDTHS` for each point.
        """
        z, after, before = z_of(family), self.after, self.before
        rising = (after.fitted + z * after.errors).argmin(axis=0)
        falling = (before.fitted - z * before.errors).argmax(axis=0)
        return rising, falling

    def limits_of(self, scores: Floats, family: int = 1, *, is_share: bool = True) -> tuple[Floats, Floats]:
        """Return confidence limits for the expected values of scores, an array of shape (m, f)."""
        return limits_of(self.ranges.histogram.law, self.counts, scores, family, is_share=is_share)
