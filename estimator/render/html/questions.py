"""One question of a page: everything that its template and its charts need, as texts and plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from client_sdk.protocol import Metric, Window
from estimator.render.html.charts import data_of
from estimator.render.html.extras import Extra, extras_of
from estimator.render.html.facts import facts_of
from estimator.render.html.figures import Group, groups_of, positions_shown
from estimator.render.html.joint import JointView, joint_view
from estimator.render.html.sentences import answer_of, leader
from estimator.render.html.sparkline import sparkline
from estimator.render.html.verdicts import ChangeRow, Verdict, change_rows, labelled_changes, too_few, verdict_of
from estimator.results.changes import Changes, Pooled
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import EXACT_BELOW

MOST_CHANGES = 20
"""Lines of a table of changes, the clearest ones; JSON has all of them."""

NO_TALLY = "There is no tally of it: nobody has reported, or in no window that may be shown."


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: texts for people, and the numbers behind them."""

    label: str
    estimate: str
    interval: str
    likeliest: str
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Table:
    """A group of figures of one window."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        metric: its definition.
        answer: a sentence or two on the window that is shown first.
        verdict: whether something changed.
        facts: terms and what they are here.
        window: the name of that window; none without any.
        preliminary: whether it can still change.
        reports: of that window.
        warning: where there are too few reports to conclude; else none.
        tables: the figures of that window.
        left_out: values that are not shown.
        joint: of two questions asked together; else none.
        extras: further tables of that window, where they are wanted.
        changes: lines of the table of changes.
        changes_left_out: how many it leaves out.
        spark: the path of a small chart; empty where there is none.
        spark_label: what it shows.
        data: for the charts; none where there is nothing to draw.

    """

    metric: Metric
    answer: str
    verdict: Verdict
    facts: tuple[tuple[str, str], ...]
    window: str | None = None
    preliminary: bool = False
    reports: int = 0
    warning: str | None = None
    tables: tuple[Table, ...] = ()
    left_out: int = 0
    joint: JointView | None = None
    extras: tuple[Extra, ...] = ()
    changes: tuple[ChangeRow, ...] = ()
    changes_left_out: int = 0
    spark: str = ""
    spark_label: str = ""
    data: Mapping[str, Any] | None = None


def unasked(metric: Metric) -> Question:
    """Return a question of which there is no tally."""
    return Question(metric, NO_TALLY, verdict_of(None, 0), facts_of(metric, (), None))


def question_of(
    windows: Sequence[MetricEstimate],
    calendar: Sequence[Window],
    pooled: Pooled | None,
    changes: Changes | None,
    independence: float | None,
) -> Question:
    """Return the view of one question.

    Args:
        windows: what its tallies tell, in time; at least one.
        calendar: all windows of its kind on the page.
        pooled: all of them together, or none.
        changes: from the first to the last, or none.
        independence: of two questions asked together, the corrected p-value of the window that is shown first; or none.

    """
    shown = first_shown(windows)
    positions, left_out = positions_shown(windows)
    groups = tuple(groups_of(shown, positions)) if shown.reports else ()
    told = sum(one.reports > 0 and one.closed for one in windows)
    rows = change_rows(changes, MOST_CHANGES)
    line = _headline(windows, shown, calendar)
    return Question(
        metric=shown.metric,
        answer=answer_of(shown, independence),
        window=shown.window.text,
        preliminary=not shown.closed,
        reports=shown.reports,
        verdict=verdict_of(changes, told),
        warning=too_few(shown) if shown.reports else None,
        tables=tuple(
            Table(group.title, tuple(_row(group, label, one) for label, one in group.figures)) for group in groups
        ),
        left_out=left_out,
        joint=joint_view(shown, independence),
        extras=tuple(extras_of(shown, positions)),
        changes=rows,
        changes_left_out=len(labelled_changes(changes)) - len(rows) if changes else 0,
        spark=sparkline(line),
        spark_label=f"{told} windows, {windows[0].window.text} to {windows[-1].window.text}",
        facts=facts_of(shown.metric, windows, shown.central),
        data=data_of(windows, positions, calendar, shown, pooled) if any(one.reports for one in windows) else None,
    )


def first_shown(windows: Sequence[MetricEstimate]) -> MetricEstimate:
    """Return the last closed window with reports, or else the last one with reports, or else the last one."""
    told = [one for one in windows if one.reports]
    closed = [one for one in told if one.closed]
    return [*windows[-1:], *told[-1:], *closed[-1:]][-1]


def _headline(
    windows: Sequence[MetricEstimate], shown: MetricEstimate, calendar: Sequence[Window]
) -> list[Estimate | None]:
    """Return the figure that stands for the question, one a window of the calendar with reports enough."""
    position = leader(shown)
    by_window = {one.window: one for one in windows if one.reports >= EXACT_BELOW}
    track: list[Estimate | None] = []
    for window in calendar:
        one = by_window.get(window)
        if one is None:
            track.append(None)
        else:
            track.append(one.mean if one.shares is None else one.shares[position][1])
    return track


def _row(group: Group, label: str, one: Estimate) -> Row:
    unit = group.unit
    return Row(
        label,
        "no estimate" if one.unbiased is None else unit.value(one.unbiased, one.low, one.high),
        unit.interval(one.low, one.high),
        "" if one.likeliest is None else unit.value(one.likeliest, one.low, one.high),
        one.unbiased,
        one.low,
        one.high,
    )
