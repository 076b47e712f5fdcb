"""Tests for changes of quantiles between windows, computed from the counts of symbols.

The estimate of a quantile comes from a smoothed histogram, so the distribution of its error is
unknown. A test therefore replaces the quantile with a share: the share of answers above a
threshold. The threshold is the quantile over all compared windows together. If this share rises
from one window to another, the quantile has risen. For instance, if the median of all windows is
400 ms, the test compares the shares of answers above 400 ms.

**The tested share.** The share above a single number cannot be estimated without bias. The scores
of symbols (`estimator.distribution_intervals.ranges`) give an unbiased estimate of the mean of the
distribution function F over a range of the grid. The test uses 1 minus this mean. This is the share
above a threshold that is drawn uniformly from the range: an answer below the range counts as 0, an
answer above it as 1, and an answer within it as a number between 0 and 1. If the distribution of
answers does not change, neither does this share, for every population and every range.

**The choice of the range.** Of all ranges of one width, a test uses the lowest one whose mean of F
reaches the quantile's probability. A narrow range says more about the quantile itself, but its
share has more noise. The width is therefore the narrowest for which every window has enough reports
for a normal interval, and for which the standard error is at most `WIDER_ERROR` times that of the
widest range. The choice depends only on the sum of all windows' counts, and on the number of
reports of the smallest window. If nothing changed, the sum does not show which reports belong to
which window, so the choice does not bias the test.

**The error.** The variance of a report's score is computed from the sum of the counts, because all
windows have the same variance if nothing changed. A tested share p is a mean of numbers from 0 to
1, so people's answers contribute at most p (1 - p) to this variance (Bhatia & Davis 2000). This is
the lasting part of the error (`estimator.report.same_people`).

**The reported change** is the weighted sum of the windows' own estimates of the quantile. Its
interval is that of a difference between two quantiles: the quantile over the windows with positive
weights, and that over the windows with negative weights. For a step at a window, these are the
quantiles of all answers since that window, and of all earlier answers. Each of the two quantiles
has an interval of 97.5%, so both intervals contain the true values at least 95% of the time, even
if the same people answered (Bonferroni). The interval of the change is wider than the test would
need. It may contain 0 although the test finds a change.

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
"""The maximum standard error of a tested share, relative to that for a range of half the grid."""


@dataclass(frozen=True, eq=False)
class QuantileChanges:
    """Weighted sums of the quantiles of one question over several windows.

    Attributes:
        windows: the windows, each with the counts of its symbols.
        metric: the question.
        probabilities: the probabilities of the quantiles.
        weights: the weights of the windows in each sum, shape (sums, windows).
        estimates: the estimates of the quantiles in each window, shape (windows, quantiles).
        tested: the weighted sums of the tested shares. A sum is 0 if the estimate of the quantile
            moves in the opposite direction. Its interval is infinitely wide if a window has too few
            reports for a normal interval.

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
        """Return the weighted sums of all quantiles that a statistic estimates."""
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
        """Return the same sums, but with infinitely wide intervals of the tested shares."""
        return replace(self, tested=self.tested.unbounded())

    def figures(
        self,
        like: Figures,
        place: tuple[Sequence[int], Sequence[int]],
        ends: tuple[Floats, Floats],
        **more: Floats,
    ) -> Figures:
        """Return the change of each quantile, with an interval of at least 95%.

        See `Sums.figures` for the arguments.

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

    If the same people answer in several windows, the mean has a larger error than a single tally
    with as many reports. Each estimate is therefore treated as one from fewer reports. Let c be the
    weight of a window, divided by the sum of all weights, n the window's number of reports, and r
    the fraction of the score's variance that may be the same in every window: for a mean p, at most
    p (1 - p) divided by the variance. The number of reports is then

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
    """The share that is tested in place of each quantile, in several windows.

    Attributes:
        windows: the shares, with the fresh and the lasting part of their errors.
        is_enough: whether every window has enough reports for a normal interval of a share, shape
            (quantiles,).

    """

    windows: Windows
    is_enough: NDArray[np.bool_]

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, probabilities: Sequence[float]
    ) -> ThresholdShares:
        """Return the share to test for each quantile, after choosing its range from all windows."""
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
    """Return the range to test for each quantile: the index of its width, and its first point.

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
    """Return the ranges of a tally. They include a fitted histogram, which is not used here."""
    return TallyRanges.from_counts(histogram, counts, np.full(histogram.bins, 1 / histogram.bins))
