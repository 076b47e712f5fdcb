"""The page as a whole: every question of the registry, an overview, and why some tallies are not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from client_sdk.protocol import Metric, Registry, Window, WindowKind
from estimator.errors import OutputError
from estimator.render.html.joint import independence_of
from estimator.render.html.questions import Question, first_shown, question_of, unasked
from estimator.report.changes import changes_of
from estimator.report.group_differences import corrected_differences
from estimator.report.pooling import pooled
from estimator.results.metric import MetricEstimate
from estimator.results.report import Composed, Report, Skipped
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies.bounds import FEWER

MOST_PLACES: Final = 50_000
"""Places for a window of a question: fifty questions on each of a thousand days, some 60 MB."""


@dataclass(frozen=True, slots=True)
class SkippedView:
    """Tallies of one edition that are not estimated, for one reason."""

    metric: str
    edition: str
    windows: str
    reason: str


@dataclass(frozen=True, slots=True)
class Page:
    """What the template needs.

    Attributes:
        app: whose questions they are.
        owner: whom to ask about them.
        span: from which window to which.
        confidence: of the intervals, in percent.
        simultaneous: whether all intervals of a question in a window hold together.
        questions: in the registry's order.
        skipped: what is not there.
        composed: what the tallies of a window reveal together, where that is wanted.
        nothing: why there is nothing to see; none where there is something.
        snapshot: when open windows were looked at, in UTC, where some are shown and it is known; else none.
        calendars: for each kind of window that occurs all of them, from the first to the last.

    """

    app: str
    owner: str
    span: str
    confidence: int
    simultaneous: bool
    questions: tuple[Question, ...]
    skipped: tuple[SkippedView, ...]
    composed: tuple[Composed, ...]
    nothing: str | None
    snapshot: str | None
    calendars: Mapping[WindowKind, tuple[Window, ...]]

    @property
    def has_sparks(self) -> bool:
        """Whether anything was told of more than one window."""
        return any(one.spark for one in self.questions)

    @property
    def has_groups(self) -> bool:
        """Whether groups are compared anywhere."""
        return any(one.joint for one in self.questions)

    @property
    def data(self) -> dict[str, Any]:
        """What the charts are drawn from."""
        return {
            "few": EXACT_BELOW,
            "calendars": {
                str(kind): [[one.text, one.first_day.isoformat()] for one in windows]
                for kind, windows in self.calendars.items()
            },
            "questions": {one.metric.name: one.data for one in self.questions if one.data is not None},
        }


def page_of(report: Report, registry: Registry) -> Page:
    """Return the page of a report.

    Args:
        report: what the tallies tell.
        registry: with the questions, also those of which there is no tally.

    Raises:
        OutputError: if it would be too large, because windows lie far apart.

    """
    _check_size(report.metrics)
    by_metric = _corrected(report.metrics)
    calendars = _calendars(report.metrics)
    changes = {one.metric: one for one in changes_of(report.metrics)}
    together = {one.metric: one for one in report.pooled or pooled(report.metrics)}
    independence = independence_of(first_shown(windows) for windows in by_metric.values())
    questions = tuple(
        question_of(
            by_metric[metric],
            calendars[metric.window],
            together.get(metric),
            changes.get(metric),
            independence.get(metric),
        )
        if metric in by_metric
        else unasked(metric)
        for metric in registry.metrics.values()
    )
    return Page(
        app=registry.app,
        owner=registry.owner,
        span=_span(report.metrics),
        confidence=round(100 * report.confidence),
        simultaneous=report.simultaneous,
        questions=questions,
        skipped=tuple(_skipped(report.skipped)),
        composed=report.composed,
        nothing=_nothing(report),
        snapshot=_snapshot(report),
        calendars=calendars,
    )


def _check_size(estimates: Sequence[MetricEstimate]) -> None:
    """Refuse a page that would be large for its gaps: each question has a place for each window of the calendar.

    Raises:
        OutputError: saying what would help.

    """
    places = 0
    for kind in WindowKind:
        of_kind = [one for one in estimates if one.window.kind is kind]
        if of_kind:
            starts = [one.window.starts_at for one in of_kind]
            shortest_s = min(one.window.ends_at - one.window.starts_at for one in of_kind)
            windows = (max(starts) - min(starts)) // shortest_s + 1
            places += windows * len({one.metric.name for one in of_kind})
    if places > MOST_PLACES:
        raise OutputError(
            f"a page of {_span(estimates)} would have {places:,} places for windows, and may have {MOST_PLACES:,};"
            f" {FEWER}"
        )


def _corrected(estimates: Iterable[MetricEstimate]) -> dict[Metric, list[MetricEstimate]]:
    """Return the windows of each question; differences in those that are shown first are corrected for just these."""
    by_metric = {metric: list(windows) for metric, windows in groupby(estimates, key=lambda one: one.metric)}
    for shown in corrected_differences(map(first_shown, by_metric.values())):
        windows = by_metric[shown.metric]
        by_metric[shown.metric] = [shown if one.window == shown.window else one for one in windows]
    return by_metric


def _calendars(estimates: Sequence[MetricEstimate]) -> dict[WindowKind, tuple[Window, ...]]:
    """Return for each kind all windows from the first to the last one, so that charts have gaps where there is none."""
    calendars = {}
    for kind in WindowKind:
        starts = [one.window.starts_at for one in estimates if one.window.kind is kind]
        if starts:
            calendars[kind] = _windows(kind, min(starts), max(starts))
    return calendars


def _windows(kind: WindowKind, first_s: int, last_s: int) -> tuple[Window, ...]:
    window = Window.of(kind, first_s)
    windows = [window]
    while window.starts_at < last_s:
        window = Window.of(kind, window.ends_at)
        windows.append(window)
    return tuple(windows)


def _span(estimates: Sequence[MetricEstimate]) -> str:
    if not estimates:
        return ""
    first = min(estimates, key=lambda one: one.window.starts_at).window.text
    last = max(estimates, key=lambda one: one.window.ends_at).window.text
    return first if first == last else f"{first} to {last}"


def _nothing(report: Report) -> str | None:
    if any(one.reports for one in report.metrics):
        return None
    if report.metrics:
        return "There are windows, but nobody has reported in them."
    if report.skipped:
        return "There is nothing to report: every tally was left out, for the reasons below."
    return "There is nothing to report: no closed window has a tally. With --preliminary open ones are shown, too."


def _snapshot(report: Report) -> str | None:
    is_preliminary = any(not one.closed for one in report.metrics)
    return f"{report.snapshot_at:%Y-%m-%d %H:%M}" if report.snapshot_at is not None and is_preliminary else None


def _skipped(skipped: Iterable[Skipped]) -> Iterable[SkippedView]:
    """Yield a line for each edition and reason."""
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for one in skipped:
        reasons.setdefault((one.metric, one.edition, one.reason), []).append(one.window.text)
    for (metric, edition, reason), windows in reasons.items():
        texts = windows[0] if len(windows) == 1 else f"{min(windows)} to {max(windows)}, {len(windows):,} windows"
        yield SkippedView(metric, edition, texts, reason)
