"""Tests for changes of quantiles between windows, computed from the counts of symbols.

A quantile is estimated from a smoothed histogram. The distribution of the estimate's error is
unknown, so the test uses the share of answers above a threshold. The threshold is the quantile over
all compared windows together. If this share rises from one window to another, the quantile has
risen. For example, if the median of all windows is 400 ms, the test compares the shares of answers
above 400 ms.

**The tested share.** Devices round their answers to a grid. The share of answers above a single
number therefore has no unbiased estimate. The test uses a threshold that is drawn uniformly from a
range of the grid, such as 380 to 420 ms. Each answer counts as the probability that it is above the
threshold. This probability is 0 below the range, 1 above it, and between 0 and 1 within it. The
tested share is 1 minus the mean of the distribution function F over the range.
`estimator.distribution_intervals.ranges` gives each report a score, and the mean score estimates
this mean without bias. If the distribution of answers does not change, this share does not change
either, for any range.

**The choice of the range.** For each width, the candidate is the lowest range over which the mean
of F is at least the quantile's probability, such as 1/2 for the median. A narrow candidate says
more about the quantile, but the share of a narrow candidate has more noise. The test uses the
narrowest candidate that meets two conditions:

* Every window has enough reports for a normal interval.
* The standard error of the share is at most `WIDER_ERROR` times the standard error for the widest
  candidate.

The choice depends only on the sum of all windows' counts, and on the smallest number of reports in
a window. If nothing changed, this sum does not show which reports belong to which window. The
choice therefore does not bias the test.

**The error.** The variance of a report's score is computed from the sum of all windows' counts,
because every window has the same variance if nothing changed. If the same people answer in every
window, the random choice of these people causes the same error each time. A tested share p is the
mean, over people, of a number from 0 to 1, so this choice contributes at most p (1 - p) to the
variance (Bhatia & Davis 2000). The lasting part of the error (`estimator.report.same_people`) is
set to this maximum.

**The reported change** is a weighted sum of the windows' quantiles. The interval is for the
difference of two quantiles: the quantile over the windows with positive weights, and the quantile
over the windows with negative weights. For a step, the first quantile is over the answers since the
step, and the second over all earlier answers. Each quantile has a 97.5% interval. Both intervals
together contain the true values at least 95% of the time, even if the same people answered in all
windows (Bonferroni).

**Unchanged quantiles.** The share above the threshold can change while the quantile stays the same.
For example, if 62% and later 70% of the answers are 0, the share of answers above 0 falls, but the
median remains 0. The p-value is therefore 1 unless the interval of the reported change lies on the
same side of 0 as the change of the tested share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
"""The maximum ratio of a tested share's standard error to the standard error for the widest
range. The widest range covers at most half the grid.
"""


@dataclass(frozen=True, slots=True, eq=False)
class QuantileChanges:
    """Weighted sums of the quantiles of one metric over several windows.

    A weighted sum multiplies the figure of each window by a weight. For example, the weights -1 and
    1 yield the change from the first window to the second.

    Attributes:
        probabilities: the probabilities of the quantiles, such as 0.5 for the median.
        weights: the weights of the windows in each sum, shape (sums, windows).
        estimates: the estimates of the quantiles in each window, shape (windows, quantiles).
        tested: the weighted sums of the tested shares. A sum becomes 0 unless the interval of the
            quantile's change lies on the same side of 0 as the sum. The interval of a sum is
            infinitely wide if some window has too few reports for the normal approximation.
        known: the intervals computed so far, for all quantiles. The keys are the weights of the
            windows. Copies of this object share ``known``, because the computation is slow.

    """

    windows: Sequence[MetricEstimate]
    metric: Metric
    probabilities: Sequence[float]
    weights: Floats
    estimates: Floats
    tested: Sums
    known: dict[tuple[float, ...], list[tuple[float, float]]] = field(default_factory=dict)

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, statistic: str, weights: Floats
    ) -> QuantileChanges:
        """Return the weighted sums of all quantiles of a statistic.

        Each window must contain the counts of its symbols. ``weights`` contains the weights of the
        windows in each sum, shape (sums, windows).
        """
        quantiles = [window.figures(statistic) for window in windows]
        probabilities = [float(str(label)) for label in quantiles[0].labels]
        estimates = np.array([each.unbiased for each in quantiles])
        shares = ThresholdShares.from_windows(windows, metric, probabilities)
        sums = shares.windows.weighted(weights)
        down, up = (np.where(shares.is_enough, end, np.inf) for end in (sums.down, sums.up))
        changes = cls(windows, metric, probabilities, weights, estimates, sums._replace(down=down, up=up))
        return changes._without_unclear()

    def _without_unclear(self) -> QuantileChanges:
        """Return the sums, with a tested sum of 0 for each quantile without a clear change.

        A change is clear if its interval lies on the same side of 0 as the tested sum.

        Intervals of quantiles are computed only if the interval of the tested sum excludes 0.
        """
        tested = self.tested
        estimates = tested.estimates.copy()
        differs = np.abs(estimates) > np.where(estimates > 0, tested.down, tested.up)
        for of_sum, quantile in np.argwhere(differs).tolist():
            low, high = self._reported(of_sum, quantile)
            if low <= 0 <= high or (low > 0) != (estimates[of_sum, quantile] > 0):
                estimates[of_sum, quantile] = 0.0
        return replace(self, tested=tested._replace(estimates=estimates))

    def unbounded(self) -> QuantileChanges:
        """Return the same sums with infinitely wide intervals of the tested shares."""
        return replace(self, tested=self.tested.unbounded())

    def figures(
        self,
        like: Figures,
        place: tuple[Sequence[int], Sequence[int]],
        ends: tuple[Floats, Floats],
        **more: Floats,
    ) -> Figures:
        """Return the change of each quantile, with an interval of at least 95% confidence.

        The arguments are those of `Sums.figures`.
        """
        pairs = [*zip(*place, strict=True)]
        lows, highs = np.array([self._reported(*pair) for pair in pairs]).T
        changes = np.array([self._change(*pair) for pair in pairs])
        return Figures(like.labels, np.clip(lows, *ends), np.clip(highs, *ends), changes, **more)

    def _change(self, of_sum: int, quantile: int) -> float:
        return float(self.weights[of_sum] @ self.estimates[:, quantile])

    def _reported(self, of_sum: int, quantile: int) -> tuple[float, float]:
        """Return the interval of a quantile's change, extended to contain the estimate.

        Readers take the direction of the change from the estimate.
        """
        low, high = self._interval(of_sum, quantile)
        change = self._change(of_sum, quantile)
        return min(low, change), max(high, change)

    def _interval(self, of_sum: int, quantile: int) -> tuple[float, float]:
        """Return the ends of the interval of a quantile's change.

        ``of_sum`` is the index of the row of weights, and ``quantile`` the index of the quantile.
        """
        more, less = np.maximum(self.weights[of_sum], 0.0), np.maximum(-self.weights[of_sum], 0.0)
        (low, high), (least, most) = (self._quantiles(tuple(each.tolist()))[quantile] for each in (more, less))
        size = float(more.sum())
        return size * (low - most), size * (high - least)

    def _quantiles(self, weights: tuple[float, ...]) -> list[tuple[float, float]]:
        if weights not in self.known:
            mixture = mixture_of(self.windows, self.metric, np.array(weights))
            self.known[weights] = quantile_intervals(mixture, self.probabilities, PAIR)
        return self.known[weights]


def mixture_of(windows: Sequence[MetricEstimate], metric: Metric, weights: Floats) -> TallyRanges:
    """Return the weighted mean of several windows' tallies, in the form of a single tally.

    If the same people answer in several windows, the mean has a larger error than a single tally
    with the same number of reports. The errors are therefore computed for a smaller number of
    reports:

        1 / (sum of c² (1 - r) / n  +  r (sum of c / sqrt(n))²)

    * c is the weight of a window divided by the sum of all weights.
    * n is the number of reports in the window.
    * r is the fraction of the variance of a report's score that may be the same in every window. If
      the mean of the distribution function over a range is p, r is min(1, p (1 - p) / v), where v
      is the variance of the score.
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
    """The tested share of each quantile, in several windows.

    ``windows`` contains the shares with the fresh and the lasting part of their errors.
    ``is_enough`` states, for each quantile, whether every window has enough reports for a normal
    interval, shape (quantiles,).
    """

    windows: Windows
    is_enough: NDArray[np.bool_]

    @classmethod
    def from_windows(
        cls, windows: Sequence[MetricEstimate], metric: Metric, probabilities: Sequence[float]
    ) -> ThresholdShares:
        """Return the tested share of each quantile.

        The range of the threshold is chosen from the counts of all windows together.
        """
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
    """Return the range to test for each quantile, as the width and the start of the range.

    Widths are indices in `WIDTHS`. Starts are indices of points of the grid. ``tally`` is the sum
    of all windows' counts, and ``fewest`` is the smallest number of reports in a window.
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
    """Return the bins and the points of a metric's estimated distribution.

    Raise `TypeError` if no distribution is estimated for the metric.
    """
    histogram = analysis_of(metric).histogram
    if histogram is None:
        raise TypeError(f"{metric.name} has no distribution")
    return histogram


def _ranges(histogram: Histogram, counts: Counts | Floats) -> TallyRanges:
    """Return the `TallyRanges` of a tally.

    `TallyRanges` requires shares of the histogram's bins, which this module does not use. Equal
    shares are passed as a placeholder.
    """
    return TallyRanges.from_counts(histogram, counts, np.full(histogram.bins, 1 / histogram.bins))
