"""Changes: the last closed window of a question minus the first, and how likely that is by chance.

The two windows are treated as independent. If the same people answered in both, or permanent
answers were drawn once for both, their errors are correlated and the true error of the difference
is smaller, so the result is conservative.

The interval of a difference combines the distances of the two windows' own intervals to their
estimates (Zou & Donner 2008, "Construction of confidence limits about effect measures: a general
approach", section 2.1), none taken to be shorter than that of a normal estimate. The standard error
alone does not do: a window of 50 reports may lack an answer of 2 % of the people, and its error
does not show that. The p-value is the smallest level at which such an interval excludes 0, if it
grows with the level as a normal one does. Intervals that hold together (``--simultaneous``) make
both conservative.

A report tests every question at once, and chance alone would make many of them appear to change.
P-values are therefore corrected for all comparisons. Every question has the same weight, whatever
its number of values, and divides it among them. The probability that any unchanged figure has a
corrected value of 0.05 or less is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec.structs import asdict

from estimator.results.changes import Change, Changes, ShareChange
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import EXACT_BELOW, Z
from estimator.statistics.holm import PAIR, holm


@dataclass(frozen=True, slots=True)
class Compared:
    """Two tallies of one question, with their differences and uncorrected p-values."""

    first: MetricEstimate
    last: MetricEstimate
    differences: tuple[Estimate, ...]
    p_values: tuple[float, ...]

    @property
    def tests(self) -> int:
        """The number of distinct p-values; they come first."""
        shares = self.first.estimates
        is_pair = shares is not None and len(shares) == PAIR and self.first.kind != "set"
        return len(self.p_values) - (is_pair and bool(self.p_values))


def changes_of(estimates: Sequence[MetricEstimate]) -> tuple[Changes, ...]:
    """Compare the first and the last closed window of every question with reports in two of them.

    Windows of fewer than `EXACT_BELOW` reports show nothing; they are skipped if two other windows
    remain. Vectors are not compared.

    Args:
        estimates: in the order of the metrics, then of the windows.

    """
    closed = [estimate for estimate in estimates if can_be_compared(estimate)]
    windows = (_enough(list(of_metric)) for _, of_metric in groupby(closed, key=lambda estimate: estimate.metric))
    compared = [compare(first, last) for first, *_, last in (of_metric for of_metric in windows if len(of_metric) > 1)]
    tested = [(p, 1 / question.tests) for question in compared for p in question.p_values[: question.tests]]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(_changes(question, [next(corrected) for _ in range(question.tests)]) for question in compared)


def can_be_compared(estimate: MetricEstimate) -> bool:
    """Whether a tally has reports, and figures that can be compared one by one with another's."""
    return estimate.closed and estimate.reports > 0 and estimate.is_comparable


def _enough(windows: list[MetricEstimate]) -> list[MetricEstimate]:
    enough = [window for window in windows if window.reports >= EXACT_BELOW]
    return enough if len(enough) > 1 else windows


def difference(first: Estimate, last: Estimate, reports: int, width: float) -> Estimate:
    """Return the difference of two estimates from different reports.

    Args:
        first: the estimate that is subtracted.
        last: the estimate it is subtracted from.
        reports: of the one with fewer; below `EXACT_BELOW` the interval covers every possible
            value.
        width: of the range of both estimates.

    """
    assert first.estimate is not None  # noqa: S101 windows without reports are left out
    assert last.estimate is not None  # noqa: S101 likewise
    change = last.estimate - first.estimate
    error = math.hypot(first.standard_error or 0.0, last.standard_error or 0.0)
    if reports < EXACT_BELOW:
        return Estimate(change, error, -width, width, None)
    (first_down, first_up), (last_down, last_up) = reaches(first), reaches(last)
    low, high = change - math.hypot(last_down, first_up), change + math.hypot(last_up, first_down)
    return Estimate(change, error, max(-width, low), min(width, high), None)


def reaches(figure: Estimate) -> tuple[float, float]:
    """Return how far the truth may lie below and above an estimate, by its interval or error."""
    assert figure.estimate is not None  # noqa: S101 windows without reports are left out
    reach = Z * (figure.standard_error or 0.0)
    return max(reach, figure.estimate - figure.low), max(reach, figure.high - figure.estimate)


def compare(first: MetricEstimate, last: MetricEstimate) -> Compared:
    """Compare two tallies of one question, with reports of different devices or windows."""
    reports = min(first.reports, last.reports)
    differences = tuple(difference(before, after, reports, width) for before, after, width in _pairs(first, last))
    p_values = tuple(map(_p_value, differences)) if reports >= EXACT_BELOW else ()
    return Compared(first, last, differences, p_values)


def _pairs(first: MetricEstimate, last: MetricEstimate) -> Iterator[tuple[Estimate, Estimate, float]]:
    """Yield the figures to compare with the width of their range: shares, then the mean."""
    if first.estimates is not None and last.estimates is not None:
        yield from ((before, after, 1.0) for before, after in zip(first.estimates, last.estimates, strict=True))
    if first.mean is not None and last.mean is not None and first.mean_range is not None:
        least, most = first.mean_range
        yield first.mean, last.mean, most - least


def _p_value(change: Estimate) -> float:
    """Return the two-sided p-value of a normal estimate that reaches 0 as far as its interval."""
    estimate = change.estimate or 0.0
    reach = estimate - change.low if estimate > 0 else change.high - estimate
    return math.erfc(abs(estimate) / (max(reach, Z * (change.standard_error or math.inf)) / Z * math.sqrt(2)))


def figures(question: Compared, corrected: list[float]) -> tuple[tuple[ShareChange, ...], Change | None]:
    """Return the differences of the shares and of the mean.

    `Compared.tests` of them have corrected p-values.
    """
    corrected_values: list[float | None] = [*corrected]
    if len(question.p_values) > question.tests:
        corrected_values.insert(PAIR - 1, corrected[0])
    p_values: list[float | None] = [*question.p_values]
    unknown = [None] * len(question.differences)
    every = [
        Change(**asdict(difference), p_value=p_value, p_value_corrected=corrected)
        for difference, p_value, corrected in zip(
            question.differences, p_values or unknown, corrected_values or unknown, strict=True
        )
    ]
    labels = () if question.first.estimates is None else question.first.estimates.labels
    of_shares = zip(labels, every[: len(labels)], strict=True)
    shares = tuple(ShareChange(**asdict(change), value=value) for value, change in of_shares)
    return shares, None if question.first.mean is None else every[-1]


def _changes(question: Compared, corrected: list[float]) -> Changes:
    shares, mean = figures(question, corrected)
    return Changes(
        metric=question.first.metric,
        edition=question.first.edition,
        first=question.first.window,
        last=question.last.window,
        tests=question.tests,
        estimates=shares,
        mean=mean,
    )
