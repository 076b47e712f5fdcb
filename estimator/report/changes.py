"""Tests that find the changed figures of a metric, and the window of each change.

The people in each window are a sample from a population. The tests ask whether the figures of this
population changed.

**Shapes.** Every figure is tested for three shapes of a change. Each shape is a weighted sum of the
windows' figures. The weights add up to 0.

* The difference between the last window and the first window.
* A trend: the rise of a straight line through all windows. The line is fitted by weighted least
  squares, and the weight of a window is its number of reports. Weights that depend on the estimated
  errors would be correlated with the estimates.
* A step: the mean of all reports since the beginning of some window, minus the mean of all earlier
  reports. Every window after the first is tried as the beginning of a step.

With two windows, the three shapes are equal. Errors and intervals of these sums are valid even if
the same people answered in several windows (`estimator.report.same_people`). The p-value is the
smallest significance level at which the interval excludes 0. This definition assumes that a higher
confidence level widens the interval by the same factor as a normal interval. With ``--with
simultaneous``, intervals and p-values of changes are conservative.

**Correction.** A report tests many figures together, and some would appear to change by chance
alone. P-values are therefore corrected by Holm's weighted method. All metrics have the same weight.
A metric divides its weight equally among its tested figures. Each figure divides its part equally
among the three shapes. The shape "step" divides its part equally among the windows at which the
step may begin (Bonferroni). The probability that at least one unchanged figure has a corrected
p-value of 0.05 or less is at most 5%.

**Verdicts.** A figure with a corrected p-value of 0.05 or less has changed. If both the trend and
the step have corrected p-values of 0.05 or less, the verdict follows the shape that fits the
figures best by least squares. For a trend, the verdict is "rising" or "falling". For a step, the
verdict is "higher since" or "lower since" a window. If only the difference between the last window
and the first is significant, the verdict is "changed". A verdict is new if the windows before the
last window give no verdict in the same direction.

If a window is given (``--since``), only the step at that window is tested, and p-values are
corrected for all metrics.

**Other statistics.**

* A share or mean within a group is tested as a ratio (Fieller).
* A text that the analyst named is tested like a share (`estimator.report.text_changes`).
* For a quantile of a distribution, the share of answers above a threshold is tested
  (`estimator.report.quantile_changes`).

**Untested figures.** `Compared.untested` names the figures that are not tested. No output format
claims that these figures did not change. The untested figures are:

* The figures of a smoothed distribution: its variance, histogram and shares of ranges. Smoothing
  causes a bias that depends on the number of reports. In addition, it is unknown how often very
  large errors occur.
* Quantiles of a metric with ``thresholds``. The shares of answers above the thresholds are tested
  instead.
* Texts that a search found in the reports. Noise hides some texts in some windows. The estimates of
  the texts that are found are therefore too large on average.
* Named texts that some hash function maps to the same cell as another named text
  (`estimator.report.text_changes`).
* Shares among the devices that answered a metric that other devices left unanswered. These shares
  are ratios of tested shares.
* Means and shares within a group if the group's share is less than 10 times the standard error of
  this share in some window. The errors of these figures are too skewed.
* Coefficients of models. Each window has its own model.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from estimator.report.quantile_changes import QuantileChanges
from estimator.report.same_people import Sums, windows_of
from estimator.report.text_changes import TextChanges, with_tested_texts
from estimator.results.estimate import Ends, Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.report import Change, Changes, ChangeVerdict
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, PAIR, SIGNIFICANT, Z, holm

ENDS: Final = 0
"""The index of the shape that compares the last window with the first."""

Shapes = Mapping[ChangeVerdict, Floats]
"""A mapping from shape to the weights of the windows in each tested sum.

Each key is the verdict on a significant sum above 0. Each value is an array with one row per sum
and one column per window.
"""

Shown = Sums | QuantileChanges | TextChanges
"""The weighted sums that are reported. The tested sums are derived from the reported sums."""

FELL: Final = {ChangeVerdict.RISING: ChangeVerdict.FALLING, ChangeVerdict.HIGHER_SINCE: ChangeVerdict.LOWER_SINCE}
"""For each verdict on a sum above 0, the verdict on a sum below 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Tallies of a metric in several windows or strata, with weighted sums and p-values.

    Attributes:
        shapes: a mapping from shape to the weights of the windows in each tested sum.
        groups: the groups of tested figures in the first tally.
        sums: for each group, the tested sums, in the order of ``shapes``.
        shown: for each group, the reported sums. The reported sums differ from the tested sums only
            for quantiles, and for texts in `TextChanges.unclear`.
        p_values: the uncorrected p-values, with one row per shape and one column per figure. NaN if
            there are too few reports.

    """

    windows: Sequence[MetricEstimate]
    shapes: Shapes
    groups: tuple[FigureGroup, ...]
    sums: tuple[Sums, ...]
    shown: tuple[Shown, ...]
    p_values: Floats

    @property
    def tests(self) -> int:
        """The number of tested figures. Two shares that add up to 1 count as one figure."""
        return len(self.p_values[ENDS]) - self._is_pair

    @property
    def _is_pair(self) -> bool:
        return self.windows[0].is_pair

    @property
    def distinct(self) -> Floats:
        """The p-values. If two shares add up to 1, those of the second share are left out."""
        return np.delete(self.p_values, 1, axis=1) if self._is_pair else self.p_values

    def everywhere(self, of_distinct: Floats) -> Floats:
        """Expand an array with the columns of `distinct` to the columns of `p_values`."""
        return np.insert(of_distinct, 1, of_distinct[:, 0], axis=1) if self._is_pair else of_distinct

    def differences(self, corrected: Floats) -> tuple[FigureGroup, ...]:
        """Return the difference in each figure between windows or strata, with its p-values.

        The difference is the first tested sum. Shares within groups are left out if all groups are
        too small for a comparison. ``corrected`` contains the p-values, corrected for all
        comparisons.
        """
        return tuple(
            FigureGroup(
                group.statistic,
                self._figures(
                    group,
                    shown,
                    ([0] * len(group.figures), range(len(group.figures))),
                    (self.p_values[ENDS, at], corrected[ENDS, at]),
                ),
                group.unit,
                _opposite_ends(group),
            )
            for group, sums, shown, at in self._placed()
            if _is_tested(group, sums)
        )

    @property
    def untested(self) -> tuple[str, ...]:
        """The untested statistics of the last tally."""
        tested = {group.statistic for group, sums, *_ in self._placed() if _is_tested(group, sums)}
        return tuple(
            group.statistic
            for group in self.windows[-1].groups
            if group.about.untested and group.statistic not in tested
        )

    def _placed(self) -> Iterator[tuple[FigureGroup, Sums, Shown, slice]]:
        start = 0
        for group, sums, shown in zip(self.groups, self.sums, self.shown, strict=True):
            yield group, sums, shown, slice(start, start + len(group.figures))
            start += len(group.figures)

    @property
    def weights(self) -> Floats:
        """The weights of the windows in all sums, shape (sums, windows)."""
        return np.concatenate(list(self.shapes.values()))

    @property
    def _shape_of_each(self) -> NDArray[np.intp]:
        """The index of the shape that each sum tests, shape (sums,)."""
        return np.repeat(np.arange(len(self.shapes)), [len(each) for each in self.shapes.values()])

    def _fits(self, sums: Sums, figure: int) -> Floats:
        """Return how well each sum fits the windows, shape (sums,), assuming independent errors.

        For each window, multiply the number of reports by the squared distance of the window's
        figure from the mean over all windows. Let S be the sum of these products. Fitting a sum's
        weights to the windows' figures by least squares decreases S. Each element of the result is
        the square root of the decrease.
        """
        reports = np.array([float(window.reports) for window in self.windows])
        fits: Floats = np.abs(sums.estimates[:, figure]) / np.sqrt((self.weights**2 / reports).sum(axis=1))
        return fits

    def _figures(
        self,
        group: FigureGroup,
        shown: Shown,
        place: tuple[Sequence[int], Sequence[int]],
        p_values: tuple[Floats, Floats],
    ) -> Figures:
        """Return one sum for each selected figure, with its p-values.

        ``place`` contains the positions of the sums and of the figures. ``p_values`` contains the
        uncorrected and the corrected p-values.
        """
        chosen, figures = place
        least, most = group.ends or SHARES
        reach = (most - least) * np.maximum(self.weights, 0.0).sum(axis=1)[chosen]
        columns = {
            name: column
            for name, column in zip(("p_values", "p_values_corrected"), p_values, strict=True)
            if not np.isnan(column).all()
        }
        return shown.figures(group.figures.at(figures), (chosen, figures), (-reach, reach), **columns)

    def found(self, corrected: Floats) -> Iterator[Change]:
        """Yield the figures that changed or may have changed.

        If the answers are "yes" and "no", only changes in the share of "yes" are yielded.

        ``corrected`` contains the p-values, corrected for all comparisons.
        """
        alone = np.fmin.reduce(self.p_values, axis=0) * len(self.p_values) * self.tests
        for group, sums, shown, at in self._placed():
            for figure in (place for place in group.told if alone[at][place] <= SIGNIFICANT):
                shapes = (self.p_values[:, at][:, figure], corrected[:, at][:, figure])
                yield self._found(group, self._fits(sums, figure), shown, figure, shapes)

    def _found(
        self,
        group: FigureGroup,
        fits: Floats,
        shown: Shown,
        figure: int,
        of_shapes: tuple[Floats, Floats],
    ) -> Change:
        """Return the change of a figure.

        ``fits`` contains the fit of each sum. ``of_shapes`` contains the p-value and the corrected
        p-value of each shape.
        """
        p_values, corrected = of_shapes
        clear = [shape for shape in range(len(p_values)) if corrected[shape] <= SIGNIFICANT]
        told = [shape for shape in clear if shape != ENDS] or clear or range(len(p_values))
        chosen = int(np.where(np.isin(self._shape_of_each, told), fits, -np.inf).argmax())
        shape = int(self._shape_of_each[chosen])
        (change,) = self._figures(group, shown, ([chosen], [figure]), (p_values[[shape]], corrected[[shape]]))
        verdict = list(self.shapes)[shape] if clear else ChangeVerdict.PERHAPS_CHANGED
        first_after = int((self.weights[chosen] > 0).argmax())
        return Change(
            change.estimate,
            change.standard_error,
            change.low,
            change.high,
            value=change.value,
            p_value=change.p_value,
            p_value_corrected=change.p_value_corrected,
            statistic=group.statistic,
            verdict=FELL.get(verdict, verdict) if (change.estimate or 0.0) < 0 else verdict,
            since=self.windows[first_after].window if verdict is ChangeVerdict.HIGHER_SINCE else None,
        )


def changes_of(
    estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric], since: Window | None = None
) -> tuple[Changes, ...]:
    """Compare the closed windows of every metric with reports in at least two closed windows.

    ``estimates`` is sorted by metric, then by window. Windows of fewer than `EXACT_BELOW` reports
    are too small to show changes. Such windows are skipped if at least two other windows remain. If
    ``since`` is given, only a step at this window is tested. Windows that overlap the beginning of
    ``since`` are left out.
    """
    closed = [each for each in estimates if each.closed and each.reports > 0 and each.followed]
    of_metrics = {name: list(windows) for name, windows in groupby(closed, key=lambda estimate: estimate.metric)}
    every = [_enough(windows, since) for windows in of_metrics.values()]
    compared_windows = [
        windows for windows in every if _shapes(windows, since) and with_tested_texts(windows)[0].followed
    ]
    earlier = [windows[:-1] for windows in compared_windows if _shapes(windows[:-1], since)]
    known = {
        _direction(changes.metric, change) for changes in _tested(earlier, metrics, since) for change in changes.found
    }
    return tuple(
        replace(
            changes,
            left_out=tuple(each.window for each in of_metrics[changes.metric] if _straddles(each, since)),
            found=tuple(
                replace(each, is_new=each.verdict.is_change and _direction(changes.metric, each) not in known)
                for each in changes.found
            ),
        )
        for changes in _tested(compared_windows, metrics, since)
    )


def _direction(metric: str, change: Change) -> tuple[str, FigureKey, bool, bool]:
    key = FigureKey(change.statistic, change.value)
    return metric, key, (change.estimate or 0.0) > 0, change.verdict.is_change


def _enough(windows: list[MetricEstimate], since: Window | None) -> list[MetricEstimate]:
    windows = [each for each in windows if not _straddles(each, since)]
    enough = [window for window in windows if window.reports >= EXACT_BELOW]
    return enough if _shapes(enough, since) else windows


def _straddles(estimated: MetricEstimate, since: Window | None) -> bool:
    """Return whether a window contains answers from both before and after ``since`` begins."""
    return since is not None and estimated.span.starts_at < since.starts_at < estimated.span.ends_at


def _shapes(windows: Sequence[MetricEstimate], since: Window | None) -> Shapes:
    reports = np.array([float(window.reports) for window in windows])
    times = np.array([float(window.span.starts_at) for window in windows])
    if since is not None:
        is_after = times >= since.starts_at
        is_both = is_after.any() and not is_after.all()
        return {ChangeVerdict.HIGHER_SINCE: _steps(reports, is_after[np.newaxis])} if is_both else {}
    if len(windows) < PAIR:
        return {}
    ends = np.zeros((1, len(windows)))
    ends[0, [0, -1]] = -1.0, 1.0
    if len(windows) == PAIR:
        return {ChangeVerdict.CHANGED: ends}
    centered = reports * (times - (reports @ times) / reports.sum())
    rise = centered * ((times[-1] - times[0]) / (centered @ times))
    is_after = np.triu(np.ones((len(windows), len(windows)), dtype=bool))[1:]
    return {
        ChangeVerdict.CHANGED: ends,
        ChangeVerdict.RISING: rise[np.newaxis],
        ChangeVerdict.HIGHER_SINCE: _steps(reports, is_after),
    }


def _steps(reports: Floats, is_after: NDArray[np.bool_]) -> Floats:
    """Return the weights of the windows in each step, shape (steps, windows)."""
    after, before = np.where(is_after, reports, 0.0), np.where(is_after, 0.0, reports)
    weights: Floats = after / after.sum(axis=1, keepdims=True) - before / before.sum(axis=1, keepdims=True)
    return weights


def _tested(
    every: Sequence[Sequence[MetricEstimate]], metrics: Mapping[str, Metric], since: Window | None
) -> Iterator[Changes]:
    """Yield the changes in each metric, with p-values corrected for all metrics."""
    tested = [compared(windows, metrics[windows[0].metric], since) for windows in every]
    for each, corrected in zip(tested, correct(tested, [1.0] * len(tested)), strict=True):
        first, last = each.windows[0], each.windows[-1]
        yield Changes(
            metric=first.metric,
            edition=first.edition,
            first=first.window,
            last=last.window,
            windows=len(each.windows),
            since=None if since is None else since.text,
            tests=each.tests,
            groups=each.differences(corrected),
            found=tuple(sorted(each.found(corrected), key=_clearness)),
            untested=each.untested,
        )


def _clearness(change: Change) -> tuple[float, float]:
    return change.p_value_corrected or 0.0, change.p_value or 0.0


def compared(windows: Sequence[MetricEstimate], metric: Metric, since: Window | None = None) -> Compared:
    """Test the windows of one metric for changes.

    ``windows`` contains at least two windows, in chronological order. ``since`` has the same
    meaning as in `changes_of`.
    """
    tested = with_tested_texts(windows)
    return dataclasses.replace(
        _compared(tested, tested[0].followed, _shapes(windows, since), metric),
        windows=windows,
    )


def compare(first: MetricEstimate, last: MetricEstimate, metric: Metric | None = None) -> Compared:
    """Compare the shares and means of two tallies of one metric.

    The result is ``last`` minus ``first``. ``metric`` is given if the same people may have reported
    in both tallies, and None if the people differ.
    """
    return _compared([first, last], first.compared, {ChangeVerdict.CHANGED: np.array([[-1.0, 1.0]])}, metric)


def correct(tested: Sequence[Compared], weights: Sequence[float]) -> list[Floats]:
    """Return the p-values of all figures and shapes, corrected for all comparisons.

    The significance level is divided among the elements of ``tested`` in proportion to ``weights``.
    """
    distinct = [each.distinct for each in tested]
    known = [~np.isnan(p_values) for p_values in distinct]
    p_values = [p for each, is_known in zip(distinct, known, strict=True) for p in each[is_known].tolist()]
    of_each = [
        weight / each.size
        for each, is_known, weight in zip(distinct, known, weights, strict=True)
        for _ in range(int(is_known.sum()))
    ]
    corrected = iter(holm(p_values, of_each))
    every = []
    for each, of_distinct, is_known in zip(tested, distinct, known, strict=True):
        filled = np.full_like(of_distinct, np.nan)
        filled[is_known] = [next(corrected) for _ in range(int(is_known.sum()))]
        every.append(each.everywhere(filled))
    return every


def _compared(
    windows: Sequence[MetricEstimate], groups: Sequence[FigureGroup], shapes: Shapes, metric: Metric | None
) -> Compared:
    followed = set.intersection(*({group.statistic for group in window.followed} for window in windows))
    groups = tuple(group for group in groups if group.statistic in followed)
    if metric is not None and any(len(window.counts) != metric.channel.symbols for window in windows):
        groups = tuple(group for group in groups if not group.about.is_followed_by_counts)
    weights = np.concatenate(list(shapes.values()))
    shown = tuple(_sums(windows, group, weights, metric) for group in groups)
    if min(window.reports for window in windows) < EXACT_BELOW:
        shown = tuple(each.unbounded() for each in shown)
    sums = tuple(each.tested for each in shown)
    p_values = np.concatenate([p_values_of(each, shapes) for each in sums], axis=1)
    return Compared(windows, shapes, groups, sums, shown, p_values)


def _sums(windows: Sequence[MetricEstimate], group: FigureGroup, weights: Floats, metric: Metric | None) -> Shown:
    if metric is not None and group.about.is_followed_by_counts:
        return QuantileChanges.from_windows(windows, metric, group.statistic, weights)
    if metric is not None and group.about.are_named_texts:
        return TextChanges.from_windows(windows, metric, group.statistic, weights)
    return windows_of(windows, group.statistic, metric).weighted(weights)


def p_values_of(sums: Sums, shapes: Shapes) -> Floats:
    """Return two-sided p-values, one row per shape and one column per figure."""
    starts = np.cumsum([0, *map(len, shapes.values())])
    clearest = np.maximum.reduceat(_scores(sums), starts[:-1], axis=0)
    tails = np.array([[math.erfc(score / math.sqrt(2)) for score in row] for row in clearest.tolist()])
    p_values: Floats = np.minimum(1.0, np.diff(starts)[:, np.newaxis] * tails)
    return p_values


def _scores(sums: Sums) -> Floats:
    """Return the distance of each sum from 0 in standard errors.

    Errors are treated as normally distributed.
    """
    reach = np.where(sums.estimates > 0, sums.down, sums.up)
    scores: Floats = np.abs(sums.estimates) / (reach / Z)
    return np.where(np.isfinite(reach), scores, np.nan)


def _is_tested(group: FigureGroup, sums: Sums) -> bool:
    is_within = bool(group.about.is_share and group.about.members)
    return not is_within or bool(np.isfinite(sums.estimates).any())


def _opposite_ends(group: FigureGroup) -> Ends:
    least, most = group.ends or SHARES
    return least - most, most - least
