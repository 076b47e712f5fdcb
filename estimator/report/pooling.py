"""Several windows of one question pooled.

The estimate over all reports is a sum over windows, weighted by their reports. Its error allows for
the same people in every window (`estimator.report.same_people`): for any number of windows, it is
at least the error due to the choice of people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.metric import Metric
from estimator.analyses.analysis import metric_fields
from estimator.report.same_people import means_of
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.statistics.confidence import EXACT_BELOW


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
    return replace(first, figures=means)
