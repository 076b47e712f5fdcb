"""Alerts, which fire if a figure's whole interval is beyond a bound, or if a figure changed.

For example, ``startup_ms.mean > 800`` fires if the interval is 810 to 850, but not if it is 790 to
850. A false alarm is possible only if the interval misses the true figure.

An alert on a bound is written ``METRIC.FIGURE OPERATOR NUMBER`` or ``METRIC[STRATUM].FIGURE …``:

* A figure is ``mean``, ``sum``, ``share[VALUE]``, or a quantile such as ``p95``. If a metric pairs
  each number with a group, ``mean[VALUE]`` is the mean of the numbers in the group VALUE.
* An operator is ``>``, ``>=``, ``<`` or ``<=``.
* A bound is refused if the alert would always or never fire.

An alert on a change is written ``METRIC.FIGURE rises``, ``METRIC.FIGURE falls`` or ``METRIC.FIGURE
changes``. The alert fires if the report concludes that the figure changed in this way over the
closed windows (`estimator.report.changes`). If no figure changes, the probability of any such alert
in a report is at most 5%.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, Final

from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.toml_table import suggestion
from estimator.analyses.metric import analysis_of
from estimator.errors import RequestError, metric_named
from estimator.report.strata import apart, former_metrics, stratum_name
from estimator.results.estimate import Record, says
from estimator.results.group import SHARES, FigureKey
from estimator.results.metric import MetricEstimate
from estimator.results.report import Changes
from estimator.results.statistic import STATISTICS
from estimator.statistics.confidence import EXACT_BELOW
from estimator.words import cell_of, is_yes_or_no


class Operator(StrEnum):
    """The condition of an alert: a comparison with a bound, or a kind of change."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="
    RISES = "rises"
    FALLS = "falls"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition on one figure of a metric.

    ``figure`` is written as in the alert, such as ``mean`` or ``share[dark]``. ``key`` identifies
    the figure in a report. ``bound`` is None if the alert is on a change.
    """

    metric: str
    figure: str
    key: FigureKey
    operator: Operator
    bound: float | None


class JudgedAlert(Record, frozen=True):
    """The outcome of an alert in one window, written as a line of JSON."""

    metric: Annotated[str, says("the name of the metric.")]
    window: Annotated[str, says("the name of the window; for a change, the last window.")]
    figure: Annotated[str, says("the figure as written in the alert.")]
    operator: Annotated[str, says("the comparison, or the change that is watched.")]
    bound: Annotated[float | None, says("the number that the figure is compared with. None for a change.")]
    estimate: Annotated[
        float | None,
        says(
            "the unbiased estimate of the figure or of its change; for a quantile, the smoothed estimate. None if "
            "there are no reports."
        ),
    ]
    low: Annotated[
        float | None,
        says("the lower end of the figure's interval. None for a sum or a group's mean if there are no reports."),
    ]
    high: Annotated[float | None, says("the upper end of the interval. None if ``low`` is None.")]
    reports: Annotated[int, says("the number of reports in the window.")]
    fired: Annotated[
        bool,
        says(
            "for a bound, whether there are enough reports and the whole interval is beyond the bound; for a change, "
            "whether the figure changed as the alert says."
        ),
    ]


def judged(
    alerts: Sequence[Alert], estimates: Sequence[MetricEstimate], changes: Iterable[Changes] = ()
) -> list[JudgedAlert]:
    """Return the outcome of every alert in every closed window of its metric.

    Open windows are left out, because their figures still change. The outcomes of alerts on bounds
    come first, in the order of ``estimates``. The outcomes of alerts on changes follow, in the
    order of ``changes``.
    """
    of_windows = [
        _judged(alert, estimated)
        for estimated in estimates
        if estimated.closed
        for alert in alerts
        if alert.metric == estimated.metric and alert.bound is not None
    ]
    reports = {(estimated.metric, estimated.window): estimated.reports for estimated in estimates}
    return of_windows + [
        _judged_change(alert, each, reports[each.metric, each.last])
        for each in changes
        for alert in alerts
        if alert.metric == each.metric and alert.bound is None
    ]


def _judged_change(alert: Alert, changes: Changes, reports: int) -> JudgedAlert:
    """Return the outcome of an alert on a change.

    The outcome contains the figure's entry in ``changes.found``. Without such an entry, the outcome
    contains the difference between the last window and the first.
    """
    found = [each for each in changes.found if FigureKey(each.statistic, each.value) == alert.key]
    change = next(iter(found), changes.figure(alert.key))
    fired = any(each.verdict.is_change and _has_direction(alert, each.estimate or 0.0) for each in found)
    return JudgedAlert(
        metric=alert.metric,
        window=changes.last,
        figure=alert.figure,
        operator=alert.operator.value,
        bound=None,
        estimate=None if change is None else change.estimate,
        low=None if change is None else change.low,
        high=None if change is None else change.high,
        reports=reports,
        fired=fired,
    )


def _has_direction(alert: Alert, change: float) -> bool:
    match alert.operator:
        case Operator.RISES:
            return change > 0
        case Operator.FALLS:
            return change < 0
        case _:
            return True


def _judged(alert: Alert, estimated: MetricEstimate) -> JudgedAlert:
    figure = estimated.figure(alert.key)
    estimate, low, high = (None, None, None) if figure is None else (figure.estimate, figure.low, figure.high)
    is_outside = low is not None and high is not None and is_beyond(alert, low, high)
    return JudgedAlert(
        metric=alert.metric,
        window=estimated.window,
        figure=alert.figure,
        operator=alert.operator.value,
        bound=alert.bound,
        estimate=estimate,
        low=low,
        high=high,
        reports=estimated.reports,
        fired=is_outside and estimated.reports >= EXACT_BELOW,
    )


def is_beyond(alert: Alert, low: float, high: float) -> bool:
    """Return whether a whole interval is beyond the bound of an alert."""
    bound = math.nan if alert.bound is None else alert.bound
    match alert.operator:
        case Operator.ABOVE:
            return low > bound
        case Operator.AT_LEAST:
            return low >= bound
        case Operator.BELOW:
            return high < bound
        case Operator.AT_MOST:
            return high <= bound
        case _:
            return False


_EXPRESSION: Final = re.compile(
    r"\s*(?P<metric>[^\s.\[]+)(?:\[(?P<stratum>[^\]]+)\])?\.(?P<figure>[a-z0-9]+(?:\[(?P<value>.*)\])?)"
    r"\s*(?:(?P<operator>>=|<=|>|<)\s*(?P<bound>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|\s(?P<change>rises|falls|changes))\s*",
    re.ASCII,
)

_GRAMMAR: Final = (
    "write METRIC.FIGURE OPERATOR NUMBER, such as 'crashes.mean > 2', 'theme.share[dark] >= 0.5' "
    "or, for a public stratum, 'crashes[platform=ios].mean > 2'; or METRIC.FIGURE rises, falls or changes"
)

_NAMED: Final = 12
"""The maximum number of a metric's values in an error message."""


def read_alert(registry: Registry, text: str) -> Alert:
    """Parse an alert, such as ``startup_ms.p95 > 800``.

    Raise `RequestError` if the text cannot be parsed, if the metric lacks the figure or value, if
    changes of the figure are not tested, or if the alert would never or always fire. Raise
    `UnknownMetricError` if the registry does not define the metric.
    """
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        raise RequestError(f"the alert {text!r} cannot be read; {_GRAMMAR}")
    metric = _metric_or_stratum(registry, match["metric"], match["stratum"], text)
    key = _key(metric, match["figure"], match["value"], text)
    if match["change"] is not None:
        about = STATISTICS[key.statistic]
        if not about.has_changes or (about.is_followed_by_counts and not analysis_of(metric).has_distribution):
            raise RequestError(
                f"the alert {text!r} cannot be judged: changes of {match['figure']} are not tested; use a share or a "
                "mean"
            )
        if key.value is False and is_yes_or_no(analysis_of(metric).labels):
            raise RequestError(
                f"the alert {text!r} repeats an alert on share[yes] with the opposite direction; use share[yes]"
            )
        return Alert(metric.name, match["figure"], key, Operator(match["change"]), None)
    alert = Alert(metric.name, match["figure"], key, Operator(match["operator"]), float(match["bound"]))
    _check_bound(metric, alert, float(match["bound"]), text)
    return alert


def _metric_or_stratum(registry: Registry, name: str, stratum: str | None, text: str) -> Metric:
    former = [each.metric for (asked, _), each in former_metrics(registry).items() if asked == name]
    if stratum is not None:
        named = [metric for metric in former if metric.name == f"{name}[{stratum}]"]
        if named:
            return named[0]
    if stratum is None and former and name not in registry.metrics:
        return former[-1]  # the app no longer asks the question, but its last reports may still arrive
    metric = metric_named(registry, name)
    if stratum is None:
        return metric
    strata = [stratum_name(name, each) for each in ("", *metric.strata)] if metric.strata else []
    in_stratum = stratum_name(name, stratum)
    if in_stratum not in strata:
        known = f"its strata are: {', '.join(strata)}" if strata else f"{name} has no strata; omit [{stratum}]"
        raise RequestError(f"the alert {text!r} names no stratum of {name}; {known}")
    return apart(registry).metric(in_stratum)


def _key(metric: Metric, figure: str, value: str | None, text: str) -> FigureKey:
    name = figure if value is None else f"{figure.partition('[')[0]}[VALUE]"
    known = analysis_of(metric).alerts
    if name in known:
        key = known[name]
        return key if value is None else FigureKey(key.statistic, _label(metric, value, text))
    if not known:
        raise RequestError(
            f"the alert {text!r} cannot be judged: {metric.name} has no figure for alerts; use another metric"
        )
    missing = "a share without its value" if name == "share" else f"{figure}, which {metric.name} does not have"
    raise RequestError(f"the alert {text!r} names {missing}; write one of: {', '.join(known)}{suggestion(name, known)}")


def _label(metric: Metric, value: str, text: str) -> Label:
    """Return the label that is written as ``value`` in the metric's output.

    Raise `RequestError` if no label, or more than one label, is written as ``value``.
    """
    labels = analysis_of(metric).labels
    named = [label for label in labels if cell_of(label) == value]
    if len(named) == 1:
        return named[0]
    if named:
        raise RequestError(
            f"the alert {text!r} is ambiguous: {len(named)} answers are written as this value; choose another value"
        )
    known = ", ".join(cell_of(label) for label in islice(labels, _NAMED))
    more = ", …" if len(labels) > _NAMED else ""
    like = suggestion(value, map(cell_of, labels))
    raise RequestError(f"the alert {text!r} names no value of {metric.name}; its values are: {known}{more}{like}")


def _check_bound(metric: Metric, alert: Alert, bound: float, text: str) -> None:
    """Refuse a bound at which the alert would never or always fire."""
    least, greatest = _ends(metric, alert.key.statistic)
    is_open_below = alert.operator in {Operator.AT_LEAST, Operator.BELOW}
    is_inside = least < bound < greatest
    is_end = bound == (greatest if is_open_below else least)
    if math.isfinite(bound) and (is_inside or is_end):
        return
    possible = f"{alert.figure} of {metric.name} is {_span(least, greatest)}"
    raise RequestError(f"the alert {text!r} would never or always fire; {possible}")


def _span(least: float, greatest: float) -> str:
    match math.isfinite(least), math.isfinite(greatest):
        case True, True:
            return f"{least:.12g} to {greatest:.12g}"
        case True, False:
            return f"{least:.12g} or more"
        case False, True:
            return f"{greatest:.12g} or less"
    return "any finite number"


def _ends(metric: Metric, statistic: str) -> tuple[float, float]:
    if STATISTICS[statistic].is_share:
        return SHARES
    least, greatest = analysis_of(metric).ends or SHARES
    if statistic == "sum":  # the number of answers has no limit, so a sum of positive answers has none
        return (least if least >= 0 else -math.inf), (greatest if greatest <= 0 else math.inf)
    return least, greatest
