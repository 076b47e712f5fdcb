"""Sums of a metric's figures over windows in which the same people may have answered.

Tallies do not show whether the same people answered in two windows. The standard error of a figure
therefore has two parts:

* The fresh part is the noise of the mechanism, which is new in each report.
* The lasting part may be the same in every window. The selection of people and the noise of
  permanent answers cause the lasting part. A device draws a permanent answer once and sends it in
  every window.

**Bound.** `Windows.weighted` multiplies each window's figure by a weight c, and adds up the
results. For example, the weights 1 and -1 give the change from one window to another. Weights that
add up to 1 give a mean. The variance of such a sum is at most

    F²  +  G²  +  P²  +  N²  +  2 min(P N, O)

F² is the sum of c² fresh² over the windows with positive weights, and P is the sum of c · lasting
over these windows. G² and N are the same sums over the windows with negative weights, with -c in
place of c. O bounds the effect of people with opposite answers in two windows, and is derived
below.

**Proof**, assuming that the fresh and lasting parts are known exactly:

* Fresh errors of different windows are independent of each other and of the lasting errors, so the
  variances add up.
* The standard deviation of a sum is at most the sum of the standard deviations (Minkowski). For the
  weighted sum of lasting errors, this gives a standard deviation of at most P over the windows with
  positive weights, and of at most N over the windows with negative weights.
* The variance also contains minus twice the covariance of these two sums of lasting errors. This
  term is at most 2 P N (Cauchy-Schwarz), and also at most 2 O.

**The bound O.** Let x and y be one person's answers in two windows, on a scale from 0 to 1, with
means a and b in the population. Neither x·y nor (1-x)·(1-y) is ever below 0. The covariance of x
and y is therefore never below -min(a·b, (1-a)·(1-b)). For the answers "yes" and "no", the
covariance reaches this bound if nobody says "yes" in both windows, or if nobody says "no" in both
windows.

Let the two windows have m and n reports, with m at most n. If everyone in the first window is also
in the second, the covariance of the windows' means is the covariance of x and y divided by n.
Otherwise, the covariance of the means is closer to 0 than this quotient. The covariance of the
means is therefore not below any of the four numbers -a·b/n, -a·b/m, -(1-a)·(1-b)/n and
-(1-a)·(1-b)/m. Consider all pairs of a window with a positive weight and a window with a negative
weight. For each pair, multiply one of the four numbers by the two windows' weights, and add up the
results. The total is a product of two sums. O is the smallest absolute value of the four products.

* O is not valid for a mean or share within a group, because people may join or leave the group.
* For coordinates of vectors, only the selection of people causes lasting errors. The mechanism for
  vectors uses a limited number of random rotations. Each window has its own rotations, so both the
  noise and the error due to the limited number of rotations are fresh.
* The noise of permanent answers does not contribute to O. If a person's two answers differ, the
  noise of the answers is independent. If the answers are equal, the noise is identical and only
  reduces the error of a difference.

**Intervals.** For intervals, the error of each window is first multiplied by a factor. The factor
is the width of the window's interval divided by the width of a normal interval with the same error
(Zou & Donner 2008, "Construction of confidence limits about effect measures: a general approach",
section 2).

**Minimum of noise.** A normal interval is valid only with a minimum amount of noise
(`LEAST_NOISE`). Noise averages out over many windows, but the number of people whose answers are at
an end of the range can be small in every window. Let k be the maximum number of windows that can be
averaged before the mean has too little noise. The mean over all windows is treated as no more
precise than a mean over k windows. The mean over all windows is a mean of such means, so the same
bound applies to the error of the mean over all windows (Minkowski). F² and G² are never set below
the square of the sum of all products c · least. Here, ``least`` is the fresh error of a window with
exactly the minimum amount of noise. More windows never increase the bound. If a window has less
noise than the minimum, the whole error of the window counts as lasting.

**Pooled figures.** The figure for all reports of several windows is a weighted mean of the windows'
figures. The weight of a window is its number of reports. The error of this mean never falls below
the error due to the selection of people.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from client_sdk.protocol.metric import Metric
from estimator.analyses.analysis import metric_fields
from estimator.analyses.lasting import lasting_of_members, lasting_of_shares, least_noise_of_means
from estimator.analyses.metric import analysis_of
from estimator.decoders.decoder import LEAST_NOISE
from estimator.decoders.rotated_axes import BLOCKS
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, Z, student_of

FARTHEST: Final = 5.0
"""A difference of this many standard errors is significant even among 87,000 comparisons (p =
6e-7).

As the confidence level increases, Fieller's interval for a ratio widens faster than a normal
interval. Intervals of ratios are therefore widened by Fieller's factor at this many standard
errors.
"""


FARTHEST_FAMILY: Final = 87_000
"""The number of simultaneous normal intervals whose half-width is `FARTHEST` standard errors."""

Places = Sequence[int] | NDArray[np.intp]
"""Indices of sums or figures in the arrays of `Sums`."""


class Sums(NamedTuple):
    """Weighted sums of figures over windows, shape (sums, figures).

    A sum is NaN if a window lacks the figure. ``down`` and ``up`` are the distances from the
    estimates to the lower and the upper ends of the 95% intervals.
    """

    estimates: Floats
    errors: Floats
    down: Floats
    up: Floats

    @property
    def tested(self) -> Sums:
        """The sums from which p-values are computed. In this class, these are the reported sums."""
        return self

    def figures(
        self,
        like: Figures,
        place: int | tuple[Places, Places],
        ends: tuple[Floats | float, Floats | float],
        **more: Floats,
    ) -> Figures:
        """Return the estimate and interval of one sum for each figure.

        ``like`` contains the labels of the result. ``place`` is either the index of one sum for all
        figures, or a pair of lists that contain the index of each figure's sum and the index of
        each figure's column. ``ends`` are the smallest and the largest possible figure. ``more``
        contains further columns, such as p-values.
        """
        estimate, error, down, up = (each[place] for each in self)
        is_known = np.isfinite(estimate)
        low, high = (
            np.where(is_known, np.clip(end, *ends), beyond)
            for end, beyond in zip((estimate - down, estimate + up), ends, strict=True)
        )
        return Figures(like.labels, low, high, estimate, error, **more)

    def unbounded(self) -> Sums:
        """Return the sums with infinitely wide intervals, which stand for too few reports."""
        everything = np.full_like(self.down, np.inf)
        return self._replace(down=everything, up=everything)


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The figures of a statistic in several windows, with fresh and lasting parts of their errors.

    Arrays have the shape (windows, figures) unless stated otherwise.

    Attributes:
        reports: the number of reports in each window, shape (windows, 1).
        estimates: the unbiased estimates.
        fresh: the part of the error that is new in each report.
        least: the fresh error of the figure in a window whose noise is exactly `LEAST_NOISE`.
        lasting: the part of the error that may be the same in every window.
        down: the distances from the estimates to the lower ends of the intervals, divided by the
            half-widths of normal intervals. No ratio is less than 1.
        up: the same ratios for the upper ends of the intervals.
        places: the numbers a and 1 - a, where a is the mean answer on a scale from 0 to 1. Empty if
            the bound O is not valid.
        width: the width of the range of possible figures.

    """

    reports: Floats
    estimates: Floats
    fresh: Floats
    least: Floats
    lasting: Floats
    down: Floats
    up: Floats
    places: tuple[Floats, ...]
    width: float

    def weighted(self, weights: Floats) -> Sums:
        """Return, for each row of weights, the weighted sum of all windows' figures.

        ``weights`` has shape (sums, windows).
        """
        more, less = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
        return Sums(
            weights @ self.estimates,
            self._error(more, less, np.ones_like(self.down), np.ones_like(self.up)),
            Z * self._error(more, less, self.down, self.up),
            Z * self._error(more, less, self.up, self.down),
        )

    def with_lasting(self, lasting: Floats) -> Windows:
        """Return a copy of the windows in which part of the error ``fresh`` counts as lasting.

        For each figure, the argument ``lasting`` contains the lasting variance of one report, on a
        scale from 0 to 1.
        """
        errors = self.fresh
        at_most = np.minimum(errors, np.sqrt(np.maximum(0.0, lasting) / self.reports) * self.width)
        fresh = np.sqrt(errors**2 - at_most**2)
        noise = (self.reports * fresh / self.width) ** 2
        is_enough = noise >= LEAST_NOISE
        fresh = np.where(is_enough, fresh, 0.0)
        return replace(
            self,
            fresh=fresh,
            least=fresh * np.sqrt(LEAST_NOISE / np.maximum(noise, LEAST_NOISE)),
            lasting=np.where(is_enough, at_most, errors),
        )

    def _error(self, more: Floats, less: Floats, widening: Floats, widening_of_less: Floats) -> Floats:
        """Return bounds on standard errors of sums, after widening each window's error.

        ``more`` are the positive weights, and ``less`` the absolute values of the negative weights.
        ``widening`` contains the factors for the errors of windows with positive weights, and
        ``widening_of_less`` the factors for windows with negative weights.
        """
        of_more, of_less = self._fresh(more, widening), self._fresh(less, widening_of_less)
        positive, negative = more @ (widening * self.lasting), less @ (widening_of_less * self.lasting)
        opposed = positive * negative
        for answers in self.places:
            higher, lower = (self.width * each * answers for each in (widening, widening_of_less))
            opposed = np.minimum(opposed, (more @ (higher / self.reports)) * (less @ lower))
            opposed = np.minimum(opposed, (more @ higher) * (less @ (lower / self.reports)))
        error: Floats = np.sqrt(of_more + of_less + positive**2 + negative**2 + 2 * opposed)
        return error

    def _fresh(self, weights: Floats, widening: Floats) -> Floats:
        """Return F², a bound on the fresh variance of a sum with weights of at least 0."""
        fresh: Floats = np.maximum(weights**2 @ (widening * self.fresh) ** 2, (weights @ (widening * self.least)) ** 2)
        return fresh


def windows_of(windows: Sequence[MetricEstimate], statistic: str, metric: Metric | None) -> Windows:
    """Return the figures of a statistic, such as geometric means, in several windows.

    Every window must have reports and the statistic. ``metric`` is None if different people
    answered in each window. A geometric mean is computed from the mean of the answers' logarithms.
    To first order, the error of a geometric mean is the error of the mean logarithm times the slope
    of the exponential function.
    """
    groups = [group for window in windows for group in window.groups if group.statistic == statistic]
    averaged, scale = means_of(windows, statistic, metric), groups[0].about.scale
    if not scale.is_relative:
        return averaged
    figures, errors, lows, highs = map(np.array, zip(*map(_columns, groups), strict=True))
    slopes = scale.slopes(figures)
    down, up = widenings(figures, errors, lows, highs)
    return replace(
        averaged,
        estimates=figures,
        fresh=averaged.fresh * slopes,
        least=averaged.least * slopes,
        lasting=averaged.lasting * slopes,
        down=down,
        up=up,
        places=tuple(each * slopes for each in averaged.places),
    )


def means_of(windows: Sequence[MetricEstimate], statistic: str, metric: Metric | None) -> Windows:
    """Return the means that determine a statistic, such as mean logarithms for geometric means."""
    groups = [group for window in windows for group in window.groups if group.statistic == statistic]
    about = groups[0].about
    least, most = about.scale.inner_ends(groups[0].ends or SHARES)
    width = most - least
    reports = np.array([[float(window.reports)] for window in windows])
    figures, errors, lows, highs = map(np.array, zip(*map(_columns, groups), strict=True))
    estimates, errors = about.scale.inner(figures), errors / about.scale.slopes(figures)
    down, up = widenings(estimates, errors, about.scale.inner(lows), about.scale.inner(highs))
    if about.members:
        shares, errors_of_shares = _members(windows, groups[0], metric)
        clear = shares / errors_of_shares  # of an empty group
        estimates = np.where(clear > 2 * FARTHEST, estimates, np.nan)
        farther = 1 / (1 - (FARTHEST / np.maximum(clear, 2 * FARTHEST)) ** 2)
        down, up = down * farther, up * farther
        of_all, reports = reports, np.maximum(reports * shares, sys.float_info.min)
    at = np.clip((estimates - least) / width, 0.0, 1.0)
    places = () if about.members else (at, 1 - at)
    nothing = np.zeros_like(errors)
    together = Windows(reports, estimates, errors, nothing, nothing, down, up, places, width)
    if metric is None:
        return together
    middle = np.clip((mean_over(together.reports, estimates) - least) / width, 0.0, 1.0)
    if about.in_ball:
        lasting = _most_in_ball(analysis_of(metric).least_noise, together) / width**2
        down = up = np.full_like(down, _greatest_widening(together))
        together = replace(together, down=down, up=up)
    elif about.members:
        share = np.clip(mean_over(of_all, shares), sys.float_info.min, 1.0)
        least_noise_of_all = share * analysis_of(metric).noise_within(share, middle)
        lasting = np.minimum(
            lasting_of_members(metric.channel, middle), errors**2 * reports / width**2 - least_noise_of_all
        )
    elif about.is_share:
        lasting = lasting_of_shares(metric.channel, middle, of_one_value=about.by_value)
    else:
        lasting = errors**2 * reports / width**2 - least_noise_of_means(metric, middle)
    return together.with_lasting(lasting)


def _members(windows: Sequence[MetricEstimate], within: FigureGroup, metric: Metric | None) -> tuple[Floats, Floats]:
    members = [window.figures(within.about.members) for window in windows]
    if metric is None or not within.about.is_share:
        return np.array([each.unbiased for each in members]), np.array([each.standard_errors for each in members])
    of_groups = analysis_of(metric).shares_of_groups
    of_windows = [of_groups(each.unbiased, window.reports) for each, window in zip(members, windows, strict=True)]
    shares, errors = map(np.array, zip(*of_windows, strict=True))
    return shares, errors


def _columns(group: FigureGroup) -> tuple[Floats, ...]:
    figures = group.figures
    columns = (figures.unbiased, figures.standard_errors, figures.lows, figures.highs)
    return tuple(column if column.size else np.full(len(figures), np.nan) for column in columns)


def widenings(estimates: Floats, errors: Floats, lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """Return the distances from estimates to ends of intervals, relative to normal intervals."""
    normal = np.maximum(Z * errors, sys.float_info.min)
    return np.maximum(1.0, (estimates - lows) / normal), np.maximum(1.0, (highs - estimates) / normal)


def mean_over(reports: Floats, estimates: Floats) -> Floats:
    """Return the mean of each figure over the reports of all windows, shape (figures,).

    The lasting part of every window's error is computed from this mean. Each window's own estimate
    would underestimate the lasting part.
    """
    mean: Floats = (reports * estimates).sum(axis=0) / reports.sum(axis=0)
    return mean


def _most_in_ball(least_noise: float, windows: Windows) -> Floats:
    """Return the maximum variance of people's vectors in each coordinate, shape (d,).

    Two bounds apply. Both are computed from all windows, because estimates from single windows are
    uncertain.

    * In each coordinate, the variance is at most the total variance of a report minus the minimum
      variance of the mechanism's noise. With few reports, this bound is the smaller of the two.
    * Summed over all coordinates, the variance is at most the square of the maximum length minus
      the square of the mean vector's length. This bound is the smaller of the two if the limited
      number of rotations causes much of the error.
    """
    total, norm = windows.reports.sum(), windows.width / 2
    mean, errors = mean_over(windows.reports, windows.estimates), windows.fresh
    of_report = (windows.reports**2 * errors**2).sum(axis=0) / total  # the total variance of one report
    uncertain = (mean_over(windows.reports, errors) ** 2).sum()
    most = norm**2 - max(0.0, float((mean**2).sum() - uncertain))
    varying: Floats = np.clip(of_report - least_noise, 0.0, max(0.0, most))
    return varying


def _greatest_widening(windows: Windows) -> float:
    """Return the ratio of the width of coordinates' intervals to the width of normal intervals.

    The mechanism rotates each vector by one of many rotations. The rotations are divided into
    `BLOCKS` blocks, and errors are estimated from the differences between blocks, so the intervals
    follow Student's distribution. The result is the larger of two factors:

    * The widening of the widest interval. Other intervals may be cut off at the end of the range.
      Intervals from few reports cover the whole range, and are used only if every window has few
      reports.
    * The ratio of Student's quantile to the normal quantile at `FARTHEST` standard errors. Tests of
      many figures use quantiles at this distance from the center, where the ratio is larger.
    """
    enough = windows.reports[:, 0] >= EXACT_BELOW
    told = enough if enough.any() else np.full_like(enough, fill_value=True)
    widest = max(float(windows.down[told].max()), float(windows.up[told].max()))
    return max(widest, student_of(FARTHEST_FAMILY, BLOCKS - 1) / FARTHEST)


def pooled(estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric]) -> tuple[Pooled, ...]:
    """Return figures over all windows together, for each metric with reports in several windows.

    ``estimates`` is sorted by metric, then by window.
    """
    with_reports = [each for each in estimates if each.reports and _can_be_pooled(each)]
    groups = ((name, list(windows)) for name, windows in groupby(with_reports, key=lambda estimated: estimated.metric))
    return tuple(_pool(metrics[name], windows) for name, windows in groups if len(windows) > 1)


def _can_be_pooled(estimated: MetricEstimate) -> bool:
    """Return whether figures can be averaged over windows. A model's figures cannot be averaged."""
    return all(group.about.pooled or not group.about.by_value for group in estimated.groups)


def _pool(metric: Metric, windows: list[MetricEstimate]) -> Pooled:
    of_first = [group for group in windows[0].groups if group.about.pooled]
    groups = [[window.group(group.statistic) for window in windows] for group in of_first]
    return Pooled(
        **metric_fields(metric),
        windows=tuple(window.window for window in windows),
        reports=sum(window.reports for window in windows),
        groups=tuple(_pool_group(metric, windows, [each for each in group if each is not None]) for group in groups),
    )


def _pool_group(metric: Metric, windows: list[MetricEstimate], groups: list[FigureGroup]) -> FigureGroup:
    first = groups[0]
    ends, scale = first.ends or SHARES, first.about.scale
    reports = np.array([[float(window.reports) for window in windows]])
    sums = means_of(windows, first.statistic, metric).weighted(reports / reports.sum())
    if reports.sum() < EXACT_BELOW:
        sums = sums.unbounded()
    means = sums.figures(first.figures, 0, scale.inner_ends(ends))
    if scale.is_relative:
        means = Figures.from_rows(scale.shown(mean, ends).labeled(mean.value) for mean in means)
    return structs.replace(first, figures=means)
