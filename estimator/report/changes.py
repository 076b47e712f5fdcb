"""Changes: the last closed window of a question minus the first, and how likely that is by chance.

The change is that of the population from which the people of each window are a sample. Nobody knows
whether the same people answered in both windows. If they answered alike, the errors of the windows
go together, and that of the difference is smaller. If they answered the opposite, as people may on
a weekday and at a weekend, the errors go against each other, and it is larger. It is therefore
taken to be as large as any answers of the same people can make it (`estimator.report.changes`).
What the mechanism adds is new in each window.

The interval of a difference combines the distances of the two windows' own intervals to their
estimates with that least correlation (Zou & Donner 2008, "Construction of confidence limits about
effect measures: a general approach", section 2), none taken to be shorter than that of a normal
estimate. The standard error alone does not do: a window of 50 reports may lack an answer of 2 % of
the people, and its error does not show that. The p-value is the smallest level at which such an
interval excludes 0, if it grows with the level as a normal one does. Intervals that hold together
(``--with simultaneous``) make both conservative.

Other figures, such as quantiles and the mean of each group, are not tested. `untested_figures`
names them, and no form of a report says that they did not change.

A report tests every question at once, and chance alone would make many of them appear to change.
P-values are therefore corrected for all comparisons. Every question has the same weight, whatever
its number of values, and divides it among them. The probability that any unchanged figure has a
corrected value of 0.05 or less is at most 5 %.

The people of a window are a sample of the population that a figure is of. Nobody knows whether they
answered in the other window, too, nor how. Let x and y be one person's answers in the two windows,
on a scale from 0 to 1, with the means a and b in the population.

* x·y and (1 - x)·(1 - y) are never below 0. The covariance of x and y is therefore never below
  -min(a·b, (1 - a)·(1 - b)). People who say yes once and no the next time reach it.
* It is never below minus the root of the product of their variances (Cauchy-Schwarz). In a share
  that says no more. The variance of the answers to a mean is at most what the least noise of the
  mechanism leaves of the variance of a report.

If everybody of the smaller window is in the larger, the means of the samples have that covariance,
divided by the reports of the larger window. If fewer are, it is nearer to 0.

The noise of the mechanism is new in each report, and takes no part. Nor do permanent answers: those
of different answers are independent, and those of equal answers are the same, which makes the error
of a difference smaller.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.metric import Metric
from estimator.analyses.means import Contrast
from estimator.analyses.metric import analysis_of
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import SHARES, Ends, FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.report import Changes
from estimator.results.statistic import Statistic
from estimator.statistics.confidence import EXACT_BELOW, PAIR, Z, holm


@dataclass(frozen=True, slots=True)
class Compared:
    """Two tallies of one question, with their differences and uncorrected p-values.

    Attributes:
        first: the tally that is subtracted.
        last: the tally from which it is subtracted.
        groups: the differences, without p-values.
        p_values: of each difference; empty with too few reports.

    """

    first: MetricEstimate
    last: MetricEstimate
    groups: tuple[FigureGroup, ...]
    p_values: tuple[float, ...]

    @property
    def tests(self) -> int:
        """The number of distinct p-values; they come first."""
        shares = self.first.estimates
        is_pair = shares is not None and len(shares) == PAIR and not self.first.are_sets
        return len(self.p_values) - (is_pair and bool(self.p_values))

    def tested(self, corrected: Iterable[float]) -> tuple[FigureGroup, ...]:
        """Return the differences with their p-values, and those corrected for everything compared.

        Args:
            corrected: one for each of the `tests`.

        """
        if not self.p_values:
            return self.groups
        of_tests = list(corrected)
        if len(self.p_values) > self.tests:  # of two shares the second mirrors the first
            of_tests.insert(PAIR - 1, of_tests[0])
        p_values, p_values_corrected = iter(self.p_values), iter(of_tests)
        return tuple(
            replace(
                group,
                figures=Figures.from_rows(
                    replace(figure, p_value=next(p_values), p_value_corrected=next(p_values_corrected))
                    for figure in group.figures
                ),
            )
            for group in self.groups
        )


def changes_of(estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric]) -> tuple[Changes, ...]:
    """Compare the first and the last closed window of every question with reports in two of them.

    Windows of fewer than `EXACT_BELOW` reports show nothing; they are skipped if two other windows
    remain. Vectors are not compared.

    Args:
        estimates: in the order of the metrics, then of the windows.
        metrics: the definitions, by name.

    """
    closed = [estimate for estimate in estimates if can_be_compared(estimate)]
    windows = (_enough(list(of_metric)) for _, of_metric in groupby(closed, key=lambda estimate: estimate.metric))
    ends = [(of_metric[0], of_metric[-1]) for of_metric in windows if len(of_metric) > 1]
    compared = [compare(first, last, metrics[first.metric]) for first, last in ends]
    tested = [(p, 1 / question.tests) for question in compared for p in question.p_values[: question.tests]]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(_changes(question, [next(corrected) for _ in range(question.tests)]) for question in compared)


def can_be_compared(estimate: MetricEstimate) -> bool:
    """Whether a tally has reports, and figures that can be compared one by one with another's."""
    return estimate.closed and estimate.reports > 0 and bool(estimate.compared)


def _enough(windows: list[MetricEstimate]) -> list[MetricEstimate]:
    enough = [window for window in windows if window.reports >= EXACT_BELOW]
    return enough if len(enough) > 1 else windows


class Pair(NamedTuple):
    """Two estimates of one figure, from different reports.

    Attributes:
        first: the estimate that is subtracted.
        last: the estimate it is subtracted from.
        width: of the range of both.
        opposition: by how much the covariance of their errors may lie below 0.

    """

    first: Estimate
    last: Estimate
    width: float
    opposition: float


def difference(pair: Pair, reports: int) -> Estimate:
    """Return the difference of two estimates.

    Args:
        pair: the estimates.
        reports: of the one with fewer; below `EXACT_BELOW` the interval covers every possible
            value.

    """
    first, last, width, opposition = pair
    assert first.estimate is not None  # noqa: S101 windows without reports are left out
    assert last.estimate is not None  # noqa: S101 likewise
    change = last.estimate - first.estimate
    errors = first.standard_error or 0.0, last.standard_error or 0.0
    opposed = min(1.0, opposition / max(math.prod(errors), sys.float_info.min))
    error = _combined(*errors, opposed)
    if reports < EXACT_BELOW:
        return Estimate(change, error, -width, width, None)
    (first_down, first_up), (last_down, last_up) = reaches(first), reaches(last)
    low = change - _combined(last_down, first_up, opposed)
    high = change + _combined(last_up, first_down, opposed)
    return Estimate(change, error, max(-width, low), min(width, high), None)


def _combined(reach: float, other_reach: float, opposed: float) -> float:
    """Return the reach of a difference: from the root of squares, at 0, to the sum, at 1."""
    return math.sqrt(reach**2 + other_reach**2 + 2 * opposed * reach * other_reach)


def reaches(figure: Estimate) -> tuple[float, float]:
    """Return how far the truth may lie below and above an estimate, by its interval or error."""
    assert figure.estimate is not None  # noqa: S101 windows without reports are left out
    reach = Z * (figure.standard_error or 0.0)
    return max(reach, figure.estimate - figure.low), max(reach, figure.high - figure.estimate)


def compare(first: MetricEstimate, last: MetricEstimate, metric: Metric | None = None) -> Compared:
    """Compare two tallies of one question.

    Args:
        first: the tally whose figures are subtracted.
        last: the tally from which they are subtracted.
        metric: the question, if the same people may have reported in both; None if other people
            did.

    """
    reports = min(first.reports, last.reports)
    people = None if metric is None else SamePeople(metric, (first.reports, last.reports))
    groups = tuple(
        _differences(before, after, people, reports)
        for before, after in zip(first.compared, last.compared, strict=True)
    )
    every = (figure for group in groups for figure in group.figures)
    return Compared(first, last, groups, tuple(map(_p_value, every)) if reports >= EXACT_BELOW else ())


def _differences(first: FigureGroup, last: FigureGroup, people: SamePeople | None, reports: int) -> FigureGroup:
    """Return the differences of the figures of a statistic that has a range."""
    least, greatest = first.ends or SHARES
    width = greatest - least
    figures = [
        difference(
            Pair(before, after, width, 0.0 if people is None else people.opposition(first.about, before, after, ends)),
            reports,
        ).labelled(before.value)
        for ends in [(least, greatest)]
        for before, after in zip(first.figures, last.figures, strict=True)
    ]
    return FigureGroup(first.statistic, Figures.from_rows(figures), first.unit, (-width, width))


def _p_value(change: Estimate) -> float:
    """Return the two-sided p-value of a normal estimate that reaches 0 as far as its interval."""
    estimate = change.estimate or 0.0
    reach = estimate - change.low if estimate > 0 else change.high - estimate
    return math.erfc(abs(estimate) / (max(reach, Z * (change.standard_error or math.inf)) / Z * math.sqrt(2)))


def _changes(question: Compared, corrected: list[float]) -> Changes:
    return Changes(
        metric=question.first.metric,
        edition=question.first.edition,
        first=question.first.window,
        last=question.last.window,
        tests=question.tests,
        groups=question.tested(corrected),
        untested=untested_figures(question.last),
    )


def untested_figures(estimated: MetricEstimate) -> tuple[str, ...]:
    """Return the figures of a window that are not compared with another's, by their statistics."""
    return tuple(group.statistic for group in estimated.groups if group.about.untested)


@dataclass(frozen=True, slots=True)
class SamePeople:
    """Two windows of a question, in which the same people may have answered.

    Attributes:
        metric: the question.
        reports: of the first window and of the last.

    """

    metric: Metric
    reports: tuple[int, int]

    def opposition(self, about: Statistic, first: Estimate, last: Estimate, ends: Ends) -> float:
        """Return by how much the covariance of the errors of two figures may lie below 0.

        Args:
            about: their statistic.
            first: the estimate in the first window.
            last: the estimate in the last one.
            ends: the least and the greatest possible figure.

        """
        ends, figures = about.scale.inner_ends(ends), (first, last)
        means = [about.scale.averaged(figure) for figure in figures]
        places = [_position(mean, *ends) for mean in means]
        opposition = _opposition(*places)
        if not about.is_share:
            variances = [
                max(0.0, reports * _error(mean, *ends) ** 2 - least_noise(self.metric, self.metric.channel, place))
                for reports, mean, place in zip(self.reports, means, places, strict=True)
            ]
            opposition = min(opposition, math.sqrt(math.prod(variances)))
        slopes = (about.scale.slope(figure) for figure in figures)
        return opposition * math.prod(slopes) * (ends[1] - ends[0]) ** 2 / max(self.reports)


def least_noise(metric: Metric, channel: Channel, mean: float) -> float:
    """Return the least variance that a channel adds to an answer, if answers have a mean.

    Args:
        metric: the question, for the worth of its answers.
        channel: that of the question, or a step of it.
        mean: on a scale from 0 to 1.

    """
    decoder = decoder_of(channel)
    if decoder is not None:
        return decoder.least_noise(mean)
    return max(0.0, Contrast.of(inverse_of(channel), analysis_of(metric).scale).floor)


def _opposition(first: float, last: float) -> float:
    """Return by how much the covariance of answers with these means may lie below 0."""
    return min(first * last, (1 - first) * (1 - last))


def _position(figure: Estimate, least: float, most: float) -> float:
    assert figure.estimate is not None  # noqa: S101 windows without reports are left out
    return min(1.0, max(0.0, (figure.estimate - least) / (most - least)))


def _error(figure: Estimate, least: float, most: float) -> float:
    return (figure.standard_error or 0.0) / (most - least)
