"""Tests for changes of quantiles between windows, computed from the counts of symbols.

The estimate of a quantile comes from a smoothed histogram, so the distribution of its error is
unknown. A test therefore replaces the quantile with a share: that of the answers above a threshold,
where the threshold is the quantile over all compared windows together. A quantile is higher if the
share above its threshold is higher.

**The tested share.** The scores of symbols (`estimator.distribution_intervals.ranges`) give an
unbiased estimate of the mean of the distribution function F over a range of the grid. The test uses
1 minus this mean. This number is the share of answers above a threshold that lies anywhere within
the range with equal probability; an answer counts as 0 below the range, as 1 above it, and as a
number between within it. If the distribution does not change, neither does this share, for every
population and every range.

**The choice of the range.** For each quantile, the range is the first one whose mean of F reaches
the quantile's probability. Its width is the narrowest that has enough reports for a normal interval
and whose error is at most `WIDER_ERROR` times the error of the widest one: a narrow range says more
about the quantile itself, but has more noise. The range depends only on the sum of all windows'
counts, and on the smallest number of reports. If nothing changed, the sum contains no information
on which reports belong to which window.

**The error.** The variance of a report's score is computed from the sum of the counts, because all
windows have the same variance if nothing changed. A tested share is the mean of numbers from 0 to
1, so the lasting part of its variance is at most p (1 - p) per report (Bhatia & Davis 2000).

**The reported change** is the weighted sum of the windows' own estimates of the quantile. Its
interval is that of the difference between two quantiles: the one over the windows with positive
weights, and the one over the windows with negative weights. For a step, these are all answers since
the window and all answers before. Each of the two has an interval of 97.5%, so both contain the
true values at least 95% of the time, for any overlap of people (Bonferroni). The interval is wider
than the test would need, and may contain 0 although the test is clear.

If the estimate does not move in the same direction as the tested share, the p-value is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of
from estimator.distribution_intervals.intervals import quantile_intervals
from estimator.distribution_intervals.ranges import SILENT, WIDTHS, Places, Seen, TallyRanges, limits
from estimator.likelihood.histogram import Histogram
from estimator.report.same_people import Sums, Windows, widenings
from estimator.results.estimate import Figures
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import PAIR

WIDER_ERROR: Final = 2.0
"""The maximum standard error of the tested range, relative to that of a range of half the grid."""


@dataclass(frozen=True, eq=False)
class QuantileChanges:
    """Weighted sums of the quantiles of one question over several windows.

    Attributes:
        windows: the windows, each with the counts of its symbols.
        metric: the question.
        probabilities: the probabilities of the quantiles.
        weights: the weights of the windows in each sum, shape (sums, windows).
        estimates: the estimates of the quantiles in each window, shape (windows, quantiles).
        tested: the sums of the tested shares. A sum is 0 if the quantile moves in the opposite
            direction. Intervals are infinitely wide if a window has too few reports for a normal
            interval.

    """

    windows: Sequence[MetricEstimate]
    metric: Metric
    probabilities: Sequence[float]
    weights: Floats
    estimates: Floats
    tested: Sums

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, statistic: str, weights: Floats
    ) -> QuantileChanges:
        """Return the sums of all quantiles of a statistic."""
        quantiles = [window.figures(statistic) for window in windows]
        probabilities = [float(str(label)) for label in quantiles[0].labels]
        estimates = np.array([each.unbiased for each in quantiles])
        shares = ThresholdShares.from_windows(windows, metric, probabilities)
        sums = shares.windows.weighted(weights)
        is_same_direction = sums.estimates * (weights @ estimates) > 0
        sums = sums._replace(estimates=np.where(is_same_direction, sums.estimates, 0.0))
        down, up = (np.where(shares.is_enough, end, np.inf) for end in (sums.down, sums.up))
        tested = sums._replace(down=down, up=up)
        return cls(windows, metric, probabilities, weights, estimates, tested)

    def unbounded(self) -> QuantileChanges:
        """Return the sums with infinitely wide intervals in tests."""
        return replace(self, tested=self.tested.unbounded())

    def figures(
        self,
        like: Figures,
        place: tuple[Sequence[int], Sequence[int]],
        ends: tuple[Floats, Floats],
        **more: Floats,
    ) -> Figures:
        """Return a change of each quantile, like `Sums.figures`, with intervals of at least 95%.

        An interval that does not contain the estimate is extended to it, because the estimate
        decides the direction of the change.
        """
        pairs = [*zip(*place, strict=True)]
        lows, highs = np.array([self._interval(*pair) for pair in pairs]).T
        changes = np.array([self.weights[of_sum] @ self.estimates[:, quantile] for of_sum, quantile in pairs])
        lows, highs = np.minimum(lows, changes), np.maximum(highs, changes)
        return Figures(like.labels, np.clip(lows, *ends), np.clip(highs, *ends), changes, **more)

    def _interval(self, of_sum: int, quantile: int) -> tuple[float, float]:
        """Return the interval of a quantile's change."""
        more, less = np.maximum(self.weights[of_sum], 0.0), np.maximum(-self.weights[of_sum], 0.0)
        (low, high), (least, most) = (self._quantiles(tuple(each.tolist()))[quantile] for each in (more, less))
        size = float(more.sum())
        return size * (low - most), size * (high - least)

    def _quantiles(self, weights: tuple[float, ...]) -> list[tuple[float, float]]:
        """Return the intervals of all quantiles over windows with the given weights."""
        known = self._known
        if weights not in known:
            known[weights] = quantile_intervals(
                mixture_of(self.windows, self.metric, np.array(weights)), self.probabilities, PAIR
            )
        return known[weights]

    @cached_property
    def _known(self) -> dict[tuple[float, ...], list[tuple[float, float]]]:
        return {}


def mixture_of(windows: Sequence[MetricEstimate], metric: Metric, weights: Floats) -> TallyRanges:
    """Return the ranges of the weighted mean of several windows, as if it were a single tally.

    If the same people answer in several windows, the mean has a larger error than a tally of as
    many reports. Each estimate is therefore counted as an estimate from fewer reports. Of the
    variance of its score, the part r that may be lasting is at most p (1 - p) for a mean p. With
    the weights c of the windows, which add up to 1, and their reports n, the number of reports is

        1 / (sum of c² (1 - r) / n  +  r (sum of c / sqrt(n))²)
    """
    weights = weights / weights.sum()
    counts = np.array([window.counts for window in windows], dtype=np.int64)
    reports = counts.sum(axis=1)
    tally = _ranges(histogram_of(metric), weights @ (counts / reports[:, np.newaxis]) * reports.sum())
    fresh = float((weights**2 / reports).sum())
    together = float((weights / np.sqrt(reports)).sum()) ** 2

    def of_mixture(seen: Seen) -> Seen:
        at = np.clip(seen.means, 0.0, 1.0)
        lasting = np.minimum(1.0, at * (1 - at) / np.maximum(seen.variances, seen.noise.least + SILENT))
        alike = 1 / ((1 - lasting) * fresh + lasting * together)
        return replace(seen, reports=np.maximum(1, alike.astype(np.int64)))

    return replace(tally, after=of_mixture(tally.after), before=of_mixture(tally.before))


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdShares:
    """The tested share of each quantile in several windows.

    Attributes:
        windows: the shares, with both parts of their errors.
        is_enough: whether every window has enough reports for a normal interval of a share, shape
            (quantiles,).

    """

    windows: Windows
    is_enough: NDArray[np.bool_]

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, probabilities: Sequence[float]
    ) -> ThresholdShares:
        """Return the tested share of each quantile, whose threshold comes from all windows."""
        histogram = histogram_of(metric)
        counts = np.array([window.counts for window in windows], dtype=np.int64)
        reports = counts.sum(axis=1, keepdims=True).astype(float)
        fewest = int(reports.min())
        tally = _ranges(histogram, counts.sum(axis=0))
        pool, ranges = tally.after, tally.ranges.after
        places = chosen_places(tally, probabilities, fewest)
        means, variances, noise = pool.means[places], pool.variances[places], pool.noise.at(*places)
        variances = np.maximum(variances, noise.least)
        integrals = (counts / reports) @ tally.ranges.scores.integrals
        below = integrals[:, ranges.stops[places]] - integrals[:, ranges.starts[places]] + ranges.beyond[places]
        shares = 1 - below / WIDTHS[places[0]]
        errors = np.sqrt(variances / reports)
        ends = [limits(1 - means, variances, noise, int(each)) for each in reports[:, 0].tolist()]
        lows, highs = (np.array(of_windows) for of_windows in zip(*ends, strict=True))
        middle = np.clip(1 - means, 0.0, 1.0)
        at = np.clip(shares, 0.0, 1.0)
        nothing = np.zeros_like(errors)
        together = Windows(
            reports,
            shares,
            errors,
            nothing,
            nothing,
            *widenings(1 - means, errors, lows, highs),
            places=(at, 1 - at),
            width=1.0,
        )
        return cls(together.with_lasting(middle * (1 - middle)), noise.enough <= fewest)


def chosen_places(tally: TallyRanges, probabilities: Sequence[float], fewest: int) -> tuple[Places, Places]:
    """Return the width of the tested range of each quantile, and the point at which it begins.

    Args:
        tally: the sum of all windows.
        probabilities: the probabilities of the quantiles.
        fewest: the number of reports of the smallest window.

    """
    seen, points = tally.after, tally.ranges.points.size
    usable = max(1, int(np.searchsorted(WIDTHS, points // 2, side="right")))
    reached = np.maximum.accumulate(seen.means[:usable, : points - 1], axis=1)
    places = [np.minimum((reached < probability).sum(axis=1), points - 2) for probability in probabilities]
    rows = np.arange(usable)
    chosen = []
    for starts in places:
        is_precise = seen.errors[rows, starts] <= WIDER_ERROR * seen.errors[usable - 1, starts[-1]]
        is_good = is_precise & (seen.noise.enough[rows, starts] <= fewest)
        chosen.append(int(is_good.argmax()) if is_good.any() else usable - 1)
    return np.array(chosen), np.array([starts[width] for starts, width in zip(places, chosen, strict=True)])


def histogram_of(metric: Metric) -> Histogram:
    """Return the histogram of a question with a distribution.

    Raises:
        TypeError: if the question has no distribution.

    """
    histogram = analysis_of(metric).histogram
    if histogram is None:
        raise TypeError(f"{metric.name} has no distribution")
    return histogram


def _ranges(histogram: Histogram, counts: Counts | Floats) -> TallyRanges:
    """Return the ranges of a tally. The fit, here of evenly spread answers, is not used."""
    return TallyRanges.from_counts(histogram, counts, np.full(histogram.bins, 1 / histogram.bins))
