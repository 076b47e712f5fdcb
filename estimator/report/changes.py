"""Did it change? By how much the last closed window of a question is above the first one, and how easily by chance.

The two windows are taken for independent; where the same people answered, or permanent answers were drawn once for
both, their errors go together and the true error of the difference is less, so that this is too careful.

A report asks this of every question at once, and of many a change would seem to be there by chance alone. So p-values
are corrected for everything that is compared: every question has the same weight, whatever the number of its values,
and shares it among them. The chance that a corrected value at or below 0.05 stands anywhere beside something that did
not change is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from client_sdk.protocol import Subset
from estimator.results.changes import Change, Changes
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.statistics.holm import PAIR, holm


@dataclass(frozen=True, slots=True)
class _Compared:
    """The two windows of one question, and what differs, uncorrected."""

    first: MetricEstimate
    last: MetricEstimate
    differences: tuple[Estimate, ...]
    p_values: tuple[float, ...]

    @property
    def tests(self) -> int:
        """How many p-values differ from each other; the first ones."""
        domain, shares = self.first.metric.domain, self.first.shares
        is_pair = shares is not None and len(shares) == PAIR and not isinstance(domain, Subset)
        return len(self.p_values) - (is_pair and bool(self.p_values))


def changes_of(estimates: Sequence[MetricEstimate]) -> tuple[Changes, ...]:
    """Compare the last closed window of every question that has reports in two of them with the first one.

    Windows of fewer than `EXACT_BELOW` reports tell nothing: they are passed over where two others are left.

    Args:
        estimates: in the order of the metrics, then of the windows.

    """
    told = [one for one in estimates if one.reports and one.closed]
    windows = (_enough(list(of_metric)) for _, of_metric in groupby(told, key=lambda one: one.metric))
    compared = [_compare(some[0], some[-1]) for some in windows if len(some) > 1]
    tested = [(p, 1 / one.tests) for one in compared for p in one.p_values[: one.tests]]
    corrected = iter(holm([p for p, _ in tested], [weight for _, weight in tested]))
    return tuple(_changes(one, [next(corrected) for _ in range(one.tests)]) for one in compared)


def _enough(windows: list[MetricEstimate]) -> list[MetricEstimate]:
    enough = [one for one in windows if one.reports >= EXACT_BELOW]
    return enough if len(enough) > 1 else windows


def difference(first: Estimate, last: Estimate, reports: int, width: float) -> Estimate:
    """Return by how much one estimate is above another, of other reports.

    Args:
        first: what is taken away.
        last: what it is taken from.
        reports: of the one that has fewer; below `EXACT_BELOW` they tell nothing.
        width: of the range that both lie in.

    """
    assert first.unbiased is not None  # noqa: S101 windows without reports are left out
    assert last.unbiased is not None  # noqa: S101 likewise
    change = last.unbiased - first.unbiased
    error = math.hypot(first.standard_error or 0.0, last.standard_error or 0.0)
    if reports < EXACT_BELOW:
        return Estimate(change, error, -width, width, None)
    reach = z_of(1) * error
    return Estimate(change, error, max(-width, change - reach), min(width, change + reach), None)


def _compare(first: MetricEstimate, last: MetricEstimate) -> _Compared:
    reports = min(first.reports, last.reports)
    differences = tuple(difference(one, other, reports, width) for one, other, width in _pairs(first, last))
    p_values = tuple(map(_p_value, differences)) if reports >= EXACT_BELOW else ()
    return _Compared(first, last, differences, p_values)


def _pairs(first: MetricEstimate, last: MetricEstimate) -> Iterator[tuple[Estimate, Estimate, float]]:
    """Yield what is compared, with the width of its range: shares, then the mean."""
    if first.shares is not None and last.shares is not None:
        yield from ((one, other, 1.0) for (_, one), (_, other) in zip(first.shares, last.shares, strict=True))
    if first.mean is not None and last.mean is not None:
        least, most = first.mean_range
        yield first.mean, last.mean, most - least


def _p_value(change: Estimate) -> float:
    """Return how often a normal estimate would stray so far from 0, to either side."""
    return math.erfc(abs(change.unbiased or 0.0) / ((change.standard_error or math.inf) * math.sqrt(2)))


def _changes(one: _Compared, corrected: list[float]) -> Changes:
    known: list[float | None] = [*corrected]
    if len(one.p_values) > one.tests:
        known.insert(PAIR - 1, corrected[0])
    p_values: list[float | None] = [*one.p_values]
    none = [None] * len(one.differences)
    figures = [Change(*some) for some in zip(one.differences, p_values or none, known or none, strict=True)]
    labels = () if one.first.shares is None else one.first.shares.labels
    mean = None if one.first.mean is None else figures[-1]
    shares = tuple(zip(labels, figures[: len(labels)], strict=True))
    return Changes(one.first.metric, one.first.window, one.last.window, shares, mean, one.tests)
