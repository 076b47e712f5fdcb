"""Sums over windows of one question, in which the same people may have answered.

It is unknown whether they did. The error of a figure in a window therefore has two parts. The fresh
part, the noise of the mechanism, is new in each report. The lasting part may be the same in every
window: it is the choice of people, and the noise of permanent answers.

`Windows.weighted` bounds the error of a sum with any weights c, from the parts of each window:

    F²  +  G²  +  P²  +  N²  +  2 min(P N, O)

F² is the sum of c² fresh² over the windows of positive weight, and P the sum of c · lasting; G² and
N are the same for -c over the others. O is how far answers of the same people can be opposed. With
one positive and one negative weight this is a difference of two windows, with positive weights
alone a mean.

The bound is not below the variance of the sum, except for the error of estimating its parts:

* Fresh errors of different windows are independent, of each other and of the lasting ones. Their
  variances add up.
* The standard deviation of a sum is at most the sum of the standard deviations (Minkowski). The
  lasting errors of the positive windows therefore add up to at most P, and the others to N.
* What is left is minus twice the covariance of the two sums. It is at most 2 P N (Cauchy-Schwarz).
* It is also at most 2 O. Let x and y be one person's answers in two windows, on a scale from 0 to
  1, with means a and b in the population. x·y and (1 - x)·(1 - y) are never below 0. Their
  covariance is thus never below -min(a·b, (1 - a)·(1 - b)); people who say yes once and no the next
  time reach it. If everybody of the smaller window, of m reports, is in the larger, of n, the means
  of the windows have that covariance divided by n, otherwise one nearer to 0. So it is not below
  -a·b/n, nor -a·b/m, nor the same for 1 - a and 1 - b. Summed over all pairs of a positive and a
  negative window, each of these four is a product of two sums. O is the smallest.
* This is not true for the mean of a group, which people may join or leave. It has no O.
* For coordinates of vectors, only the choice of people lasts. Each window has its own rotations, so
  the noise, and the error due to the limited number of rotations, are new.
* The noise of permanent answers does not contribute to O: it is independent for different answers
  and the same for equal answers, which makes the error of a difference smaller.

Each window's error is widened as far as its interval is wider than that of a normal estimate (Zou &
Donner 2008, "Construction of confidence limits about effect measures: a general approach", section
2).

If the same people answer in many windows, the noise in their mean may be too small for a normal
interval (see `LEAST_NOISE`): a few people at an end of the range remain a few in every window. The
mean is treated as no more exact than one over the most windows with enough noise. Because it is a
mean of such means, this bounds its error, too (Minkowski). F² and G² are therefore at least the
square of the sum of c · least, where the least error of a window is that of the least noise. More
windows never make the bound larger. The whole error of a window with less noise counts as lasting.

The estimate over all reports of several windows is a sum over windows, weighted by their reports.
For any number of windows, its error is at least the error due to the choice of people.
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
"""Standard errors, more than any corrected p-value needs (6 in 10 million). Fieller's interval of a
ratio grows faster than in proportion to z. Intervals of ratios are widened to its width here.
"""


FARTHEST_FAMILY: Final = 87_000
"""The number of simultaneous intervals that each reach `FARTHEST` standard errors, if normal."""

Places = Sequence[int] | NDArray[np.intp]
"""Positions of sums, or of figures."""


class Sums(NamedTuple):
    """Weighted sums over windows, each of shape (sums, figures). NaN where a window has none.

    Attributes:
        estimates: the sums.
        errors: their standard errors.
        down: the distances from the estimates down to the ends of their 95% intervals.
        up: the distances up to the other ends.

    """

    estimates: Floats
    errors: Floats
    down: Floats
    up: Floats

    def figures(
        self,
        like: Figures,
        place: int | tuple[Places, Places],
        ends: tuple[Floats | float, Floats | float],
        **more: Floats,
    ) -> Figures:
        """Return one of the sums as figures.

        Args:
            like: figures with the same labels.
            place: the position of the sum, or the positions for each figure.
            ends: the smallest and the largest possible figure.
            more: further columns.

        """
        estimate, error, down, up = (each[place] for each in self)
        is_known = np.isfinite(estimate)
        low, high = (
            np.where(is_known, np.clip(end, *ends), beyond)
            for end, beyond in zip((estimate - down, estimate + up), ends, strict=True)
        )
        return Figures(like.labels, low, high, estimate, error, **more)

    def unbounded(self) -> Sums:
        """Return the same sums with unbounded intervals, because there are too few reports."""
        everything = np.full_like(self.down, np.inf)
        return self._replace(down=everything, up=everything)


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The figures of a statistic in several windows, with both parts of their errors.

    All have the shape (windows, figures), except for the reports.

    Attributes:
        reports: the number of reports in each window, shape (windows, 1).
        estimates: the unbiased estimates.
        fresh: the part of the error that is new in each report.
        least: the part of the fresh error that is not averaged over windows.
        lasting: the part that may be the same in every window.
        down: the intervals' reach downwards, relative to a normal interval; at least 1.
        up: likewise up.
        places: the positions of the figures on a scale from 0 to 1, and their distances to 1. Empty
            where O is unknown.
        width: the width of the figures' range.

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
        """Return sums over the windows with weights, shape (sums, windows)."""
        more, less = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
        return Sums(
            weights @ self.estimates,
            self._error(more, less, np.ones_like(self.down), np.ones_like(self.up)),
            Z * self._error(more, less, self.down, self.up),
            Z * self._error(more, less, self.up, self.down),
        )

    def _error(self, more: Floats, less: Floats, widening: Floats, widening_of_less: Floats) -> Floats:
        """Return the bound of the errors, with widened errors of windows.

        Args:
            more: the positive weights.
            less: the negative weights, without their sign.
            widening: the factors for the windows with positive weights.
            widening_of_less: the factors for the others.

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
        """Return F², the bound of the fresh variance of a sum with weights that are not below 0."""
        fresh: Floats = np.maximum(weights**2 @ (widening * self.fresh) ** 2, (weights @ (widening * self.least)) ** 2)
        return fresh


def windows_of(windows: Sequence[MetricEstimate], statistic: str, metric: Metric | None) -> Windows:
    """Return the figures of a statistic in windows that have it, such as geometric means.

    To first order, errors are those of the means behind the figures, times the slopes.

    Args:
        windows: windows of one question, each with reports.
        statistic: the statistic of the figures.
        metric: the question; None if other people answered in each window.

    """
    groups = [group for window in windows for group in window.groups if group.statistic == statistic]
    averaged, scale = means_of(windows, statistic, metric), groups[0].about.scale
    if not scale.is_relative:
        return averaged
    figures, errors, lows, highs = map(np.array, zip(*map(_columns, groups), strict=True))
    slopes = scale.slopes(figures)
    down, up = (np.maximum(1.0, reach / _normal(errors)) for reach in (figures - lows, highs - figures))
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
    """Return the means behind the figures of a statistic, such as means of logarithms."""
    groups = [group for window in windows for group in window.groups if group.statistic == statistic]
    about = groups[0].about
    least, most = about.scale.inner_ends(groups[0].ends or SHARES)
    width = most - least
    reports = np.array([[float(window.reports)] for window in windows])
    figures, errors, lows, highs = map(np.array, zip(*map(_columns, groups), strict=True))
    estimates, errors = about.scale.inner(figures), errors / about.scale.slopes(figures)
    down, up = (
        np.maximum(1.0, reach / _normal(errors))
        for reach in (estimates - about.scale.inner(lows), about.scale.inner(highs) - estimates)
    )
    if about.members:
        members = [window.figures(about.members) for window in windows]
        shares = np.array([figures.unbiased for figures in members])
        clear = shares / np.array([figures.standard_errors for figures in members])  # of an empty group
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
    elif about.is_share:
        lasting = lasting_of_shares(metric.channel, middle, of_one_value=about.by_value)
    elif about.members:
        share = np.clip(mean_over(of_all, shares), sys.float_info.min, 1.0)
        least_noise_of_all = share * analysis_of(metric).noise_within(share, middle)
        lasting = np.minimum(
            lasting_of_members(metric.channel, middle), errors**2 * reports / width**2 - least_noise_of_all
        )
    else:
        lasting = errors**2 * reports / width**2 - least_noise_of_means(metric, middle)
    lasting = np.minimum(errors, np.sqrt(np.maximum(0.0, lasting) / reports) * width)
    fresh = np.sqrt(errors**2 - lasting**2)
    noise = (reports * fresh / width) ** 2
    is_enough = noise >= LEAST_NOISE
    fresh = np.where(is_enough, fresh, 0.0)
    return replace(
        together,
        fresh=fresh,
        least=fresh * np.sqrt(LEAST_NOISE / np.maximum(noise, LEAST_NOISE)),
        lasting=np.where(is_enough, lasting, errors),
    )


def _columns(group: FigureGroup) -> tuple[Floats, ...]:
    """Return the estimates of figures, NaN if there are none, their errors, and the intervals."""
    figures = group.figures
    columns = (figures.unbiased, figures.standard_errors, figures.lows, figures.highs)
    return tuple(column if column.size else np.full(len(figures), np.nan) for column in columns)


def _normal(errors: Floats) -> Floats:
    """Return the half-widths of normal intervals, above 0."""
    reach: Floats = np.maximum(Z * errors, sys.float_info.min)
    return reach


def mean_over(reports: Floats, estimates: Floats) -> Floats:
    """Return the mean of each figure over all reports, shape (figures,).

    With each window's own estimate, the lasting part would be too small.
    """
    mean: Floats = (reports * estimates).sum(axis=0) / reports.sum(axis=0)
    return mean


def _most_in_ball(least_noise: float, windows: Windows) -> Floats:
    """Return the maximum variance of people's vectors in each coordinate, shape (d,).

    It is at most the variance beyond the mechanism's least noise, and at most the squared norm
    minus the squared length of the mean, which bounds all coordinates together. The first bound is
    sharp if there are few reports, the second if the rotations matter. Both use all windows,
    because those of a single window are uncertain.
    """
    total, norm = windows.reports.sum(), windows.width / 2
    mean, errors = mean_over(windows.reports, windows.estimates), windows.fresh
    of_report = (windows.reports**2 * errors**2).sum(axis=0) / total  # the whole variance, as if of one report
    uncertain = (mean_over(windows.reports, errors) ** 2).sum()
    most = norm**2 - max(0.0, float((mean**2).sum() - uncertain))
    varying: Floats = np.clip(of_report - least_noise, 0.0, max(0.0, most))
    return varying


def _greatest_widening(windows: Windows) -> float:
    """Return the factor by which intervals of coordinates are wider than normal ones.

    Errors are estimated from blocks of rotations, so intervals are Student's. The widest shows the
    factor, because ends may be cut off; intervals of few reports cover everything, and count only
    if there are no others. Tests look farther out, where Student's law is wider still.
    """
    enough = windows.reports[:, 0] >= EXACT_BELOW
    told = enough if enough.any() else np.full_like(enough, fill_value=True)
    widest = max(float(windows.down[told].max()), float(windows.up[told].max()))
    return max(widest, student_of(FARTHEST_FAMILY, BLOCKS - 1) / FARTHEST)


def pooled(estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric]) -> tuple[Pooled, ...]:
    """Pool the windows of every metric with reports in more than one, in the order of the metrics.

    Args:
        estimates: in the order of the metrics, then of the windows.
        metrics: the definitions, by name.

    """
    with_reports = [each for each in estimates if each.reports and _can_be_pooled(each)]
    groups = ((name, list(windows)) for name, windows in groupby(with_reports, key=lambda estimated: estimated.metric))
    return tuple(_pool(metrics[name], windows) for name, windows in groups if len(windows) > 1)


def _can_be_pooled(estimated: MetricEstimate) -> bool:
    """Whether figures add up over windows. Each window of a model has its own model."""
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
