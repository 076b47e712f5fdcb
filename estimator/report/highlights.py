"""What a person reads first: the windows and values to show, and the conclusions they allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np

from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of
from estimator.plan.target_error import reports_needed, unit_variance
from estimator.report.changes import changes_of
from estimator.report.conclusions import corrected_differences
from estimator.report.pooling import pooled
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.report import SHOWN_VALUES, TOO_FAR, Highlight, Precision
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, Z, holm


def highlights_of(estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric]) -> tuple[Highlight, ...]:
    """Return what is shown first about each question, in their order.

    Args:
        estimates: in the order of the metrics, then of the windows.
        metrics: the definitions, by name.

    """
    by_metric = {name: list(windows) for name, windows in groupby(estimates, key=lambda each: each.metric)}
    shown = {each.metric: each for each in corrected_differences(map(first_shown, by_metric.values()))}
    independence = independence_of(shown.values())
    changes = {each.metric: each for each in changes_of(estimates, metrics)}
    together = {each.metric: each for each in pooled(estimates, metrics)}
    positions = {name: shown_values(_last_with_reports(windows)) for name, windows in by_metric.items()}
    return tuple(
        Highlight(
            shown=shown[name],
            positions=positions[name],
            left_out=left_out(_last_with_reports(windows)),
            precision=_precision(shown[name], metrics[name]),
            independence=independence.get(name),
            changes=changes.get(name),
            pooled=together.get(name),
        )
        for name, windows in by_metric.items()
    )


def first_shown(windows: Sequence[MetricEstimate]) -> MetricEstimate:
    """Return the last closed window with reports, else the last with reports, else the last one."""
    with_reports = [window for window in windows if window.reports]
    closed = [window for window in with_reports if window.closed]
    return [*windows[-1:], *with_reports[-1:], *closed[-1:]][-1]


def shown_values(estimated: MetricEstimate) -> tuple[int, ...]:
    """Return the positions of the values or coordinates to show, rising. Empty without either."""
    group = by_value(estimated)
    if group is None:
        return ()
    figures = group.figures
    if group.about.is_share and len(figures) <= SHOWN_VALUES:
        return tuple(range(len(figures)))
    sizes = figures.shrunken if figures.shrunken.size else figures.highs
    return _largest(sizes if group.about.is_share else np.abs(figures.unbiased))


def by_value(estimated: MetricEstimate) -> FigureGroup | None:
    """Return the group that has a figure for each value or coordinate. None without one."""
    return next((group for group in estimated.groups if group.about.by_value), None)


def _largest(sizes: Floats) -> tuple[int, ...]:
    largest = np.argsort(-sizes, kind="stable")[:SHOWN_VALUES]
    return tuple(sorted(largest.tolist()))


def left_out(estimated: MetricEstimate) -> int:
    """Return the number of values or coordinates that are not shown."""
    group = by_value(estimated)
    return 0 if group is None else max(0, len(group.figures) - SHOWN_VALUES)


def independence_of(shown: Iterable[MetricEstimate]) -> dict[str, float]:
    """Return the p-values of shown pairs of questions, corrected for their number, by metric."""
    tests = {each.metric: each.independence for each in shown if each.independence is not None}
    corrected = holm([test.p_value for test in tests.values()], [1.0] * len(tests))
    return dict(zip(tests, corrected, strict=True))


def _last_with_reports(windows: Sequence[MetricEstimate]) -> MetricEstimate:
    with_reports = [window for window in windows if window.reports]
    return (with_reports or windows)[-1]


def _precision(estimated: MetricEstimate, metric: Metric) -> Precision:
    reach, scale = _reach(estimated, metric)
    if reach <= TOO_FAR * scale:
        return Precision(reach, scale, None)
    needed = reports_needed(unit_variance(metric), TOO_FAR * scale / Z)
    return Precision(reach, scale, max(EXACT_BELOW, needed))


def _reach(estimated: MetricEstimate, metric: Metric) -> tuple[float, float]:
    """Return the largest reach of a question's intervals, and the length of their range."""
    leading = estimated.leading
    if leading is None:
        return 0.0, analysis_of(metric).width
    reach = float((leading.figures.highs - leading.figures.lows).max()) / 2
    return reach, 1.0 if leading.about.is_share else analysis_of(metric).width
