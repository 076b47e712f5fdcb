"""The page on all windows of an archive, with the latest results and links to the reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.window import Window, WindowKind
from estimator.render.html.metric_view import MOST_PLACES, REPORTS, MetricView, Spark, sparkline
from estimator.render.rounding import number
from estimator.render.words import NO_REPORTS, answer_of
from estimator.report.strata import apart, former_metrics
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.results.report import Highlight
from estimator.results.standing import ArchivedWindow, DevicesTakingPart, Standing, StandingMetric

if TYPE_CHECKING:
    from estimator.render.html.page import Page

MOST_WINDOWS: Final = 90
"""The maximum number of windows of each kind on the page. For days, this is a quarter of a year.

With fifty metrics, 90 windows take 1.5 MB.
"""

OPEN_WINDOWS: Final = 7
"""The number of newest windows whose details are visible at first. For days, this is a week."""


class DevicesOverTime(NamedTuple):
    """The approximate number of participating devices in each window of one kind, newest first.

    ``spark`` is None if there is only one window.
    """

    kind: WindowKind
    spark: Spark | None
    rows: tuple[tuple[str, str], ...]


class ListedMetric(NamedTuple):
    """A line in the list of metrics on a public page.

    ``window`` states whether devices report once a day, once a week or once a month. ``history``
    contains sentences on the published windows, and on earlier forms of the metric.
    """

    standing: StandingMetric
    window: WindowKind
    history: tuple[str, ...]


def newest(windows: Iterable[Window], registry: Registry) -> list[Window]:
    """Return the newest windows of each kind that fit on a page. Gaps count as windows."""
    most = min(MOST_WINDOWS, MOST_PLACES // (len(WindowKind) * max(1, len(apart(registry).metrics))))
    of_kinds = {kind: [window for window in windows if window.kind is kind] for kind in WindowKind}
    last = {kind: max(of_kind, key=lambda window: window.starts_at) for kind, of_kind in of_kinds.items() if of_kind}
    return [
        window
        for kind, of_kind in of_kinds.items()
        for window in of_kind
        if last[kind].starts_at - window.starts_at < most * (last[kind].ends_at - last[kind].starts_at)
    ]


def standing_of(page: Page, windows: Sequence[ArchivedWindow] = (), absent: str = NO_REPORTS) -> Standing:
    """Return the latest results of each metric, with the metric's first and last window.

    ``windows`` are the archived windows, newest first. ``absent`` is the text for a metric without
    estimates.
    """
    first: dict[str, str] = {}
    for estimated in page.report.metrics:
        if estimated.reports:
            first.setdefault(estimated.metric, estimated.window)
    shown = {each.shown.metric: each for each in page.report.highlights}
    return Standing(
        app=page.registry.app,
        participation=page.participation,
        metrics=tuple(
            _standing(view, first.get(view.metric.name), shown.get(view.metric.name), absent) for view in page.metrics
        ),
        devices=tuple(devices_of(page.report.metrics)),
        windows=tuple(windows),
    )


def _standing(view: MetricView, first: str | None, known: Highlight | None, absent: str) -> StandingMetric:
    metric = view.metric
    return StandingMetric(
        metric=metric.name,
        title=metric.title,
        purpose=metric.purpose,
        epsilon=as_float(metric.epsilon_nanos),
        expires=metric.expires,
        first=first,
        last=view.window,
        counted=metric.kind.counted(shipped()),
        reports=0 if known is None else known.shown.reports,
        answer=absent if known is None else answer_of(known.shown, known.independence),
        code=view.verdict.code,
        change=view.verdict.sentence,
    )


def devices_of(estimates: Sequence[MetricEstimate]) -> list[DevicesTakingPart]:
    """Return the approximate number of participating devices in each window, oldest first."""
    most: dict[str, DevicesTakingPart] = {}
    for estimated in estimates:
        known = estimated.taking_part
        if known is None or not estimated.reports or known.estimate is None:
            continue
        of_metric = DevicesTakingPart(estimated.window, known.estimate, known.low, known.high)
        if estimated.window not in most or most[estimated.window].devices < of_metric.devices:
            most[estimated.window] = of_metric
    return sorted(most.values(), key=lambda each: (Window.parse(each.window).starts_at, each.window))


def on_all_windows(page: Page, standing: Standing) -> dict[str, Any]:
    """Return the variables of the template for an archive's page, except for the metrics."""
    return {"standing": standing, "devices": _over_time(page, standing), "open_windows": OPEN_WINDOWS}


def for_the_public(page: Page, standing: Standing, registry: Registry) -> dict[str, Any]:
    """Return the variables of the template for a public page, except for the metrics.

    ``page``, ``standing`` and ``registry`` contain only metrics that may be published.
    """
    listed = [_listed(each, registry) for each in standing.metrics if each.metric in registry.metrics]
    return {"listed": listed, "devices": _over_time(page, standing)}


def without_sums(view: MetricView) -> MetricView:
    """Return a view without the total number of reports, which must not be published exactly."""
    return replace(view, facts=tuple(fact for fact in view.facts if fact[0] != REPORTS))


def _listed(standing: StandingMetric, registry: Registry) -> ListedMetric:
    span = "" if standing.first is None else f"Published from {standing.first} to {standing.last}."
    former = (each.relation for (name, _), each in former_metrics(registry).items() if name == standing.metric)
    return ListedMetric(standing, registry.metrics[standing.metric].window, (span, *dict.fromkeys(former)))


def _over_time(page: Page, standing: Standing) -> list[DevicesOverTime]:
    by_window = {each.window: each for each in standing.devices}
    every = (
        _of_kind(kind, [by_window.get(window.text) for window in windows]) for kind, windows in page.calendars.items()
    )
    return [each for each in every if each is not None]


def _of_kind(kind: WindowKind, windows: Sequence[DevicesTakingPart | None]) -> DevicesOverTime | None:
    rows = [(each.window, _about(each)) for each in reversed(windows) if each is not None]
    if not rows:
        return None
    return DevicesOverTime(
        kind=kind,
        spark=sparkline([None if each is None else _estimate(each) for each in windows]),
        rows=tuple(rows),
    )


def _estimate(devices: DevicesTakingPart) -> Estimate:
    return Estimate(devices.devices, None, devices.low, devices.high)


def _about(devices: DevicesTakingPart) -> str:
    whole = 0 if devices.low == devices.high else None
    return f"about {number(devices.devices, devices.low, devices.high, figures=1, decimals=whole).estimate}"
