"""The data of a report, and the request for a report.

Highlights are the results that a page or a table shows first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from client_sdk.protocol.window import Window
from estimator.results.estimate import Figure, Record, says
from estimator.results.group import Figured, FigureGroup
from estimator.results.metric import Composed, MetricEstimate, Pooled

SHOWN_VALUES: Final = 50
"""The maximum number of a metric's values that are shown. The values with the largest shares are
shown.
"""

MOST_EFFECTS: Final = 6
"""The maximum number of pairs of strata that tables and pages show for each metric.

JSON and CSV contain all pairs.
"""

TOO_FAR: Final = 0.1
"""The page warns if an interval's half-width exceeds this fraction of the range of possible
figures. An interval with this half-width hardly distinguishes a share of one half from a share of
one third.
"""

SCHEMA: Final = 1
"""The schema number of reports in JSON, CSV and Parquet. Raise this number whenever a field is
added or removed, or changes its meaning. Older readers then refuse the new schema.
"""

POPULATION: Final = "taking-part"
"""The population of all figures: the participating devices. Standard errors and intervals treat the
devices that sent reports as a random sample of this population.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a report, such as additional figures.

    Attributes:
        simultaneous: whether the 95% confidence applies to all intervals of a tally together,
            instead of to each interval.
        central_delta: the delta of central epsilons. The central epsilon of a tally applies to an
            observer who sees no individual reports. None to compute no central epsilons.
        joint: whether to compute shares within groups and differences for a pair of metrics.
        fakes: the assumed fraction of fabricated reports. None to compute no effect of fabricated
            reports.
        clusters: whether to find clusters of answers, for numbers, counts, scales and pairs of
            metrics.
        ranges: the ranges whose shares are requested. Each range consists of the name of a metric,
            a start and an end.
        candidates: the texts whose shares are requested, for metrics about texts.
        finds_texts: whether to find texts, for metrics about texts. If not, only the requested
            texts have shares.
        installs: the number of all installations, whether or not they report. This number
            determines bounds on the figures of all installations. None to compute no bounds.
        asked: the share of devices that are asked for a report in a window. None to compute the
            share from the schedule.
        since: a window. Changes are then tested only between two groups of windows: all earlier
            windows, and this window together with all later windows. None to run all tests of
            changes.

    """

    simultaneous: bool = False
    covariance: bool = False
    central_delta: float | None = None
    pool: bool = False
    joint: bool = True
    fakes: float | None = None
    clusters: bool = False
    ranges: tuple[tuple[str, float, float], ...] = ()
    candidates: tuple[str, ...] = ()
    finds_texts: bool = True
    highlights: bool = True
    installs: int | None = None
    asked: float | None = None
    since: Window | None = None


PLAIN = Request()


@dataclass(frozen=True, slots=True)
class Selection:
    """The windows and metrics that a report covers.

    Attributes:
        names: the names of the metrics, or () for all. P-values are always corrected for all
            metrics with tallies. The conclusions on a metric therefore do not depend on the
            selection of other metrics.
        first: the first window. Windows that end before the first window begins are left out. None
            for no limit.
        last: the last window. Windows that begin after the last window ends are left out. None for
            no limit.
        preliminary: whether to include windows that are still open.

    """

    first: Window | None = None
    last: Window | None = None
    preliminary: bool = False
    names: tuple[str, ...] = ()

    def shows(self, metric: str) -> bool:
        """Return whether a metric is selected.

        The strata of a selected metric, and the former metrics with its name, are selected too.
        """
        return not self.names or metric.partition("[")[0] in self.names

    def spans(self, window: Window) -> bool:
        """Return whether a window lies between `first` and `last`, or overlaps one of them.

        For example, a day overlaps its month.
        """
        not_before = self.first is None or window.ends_at > self.first.starts_at
        return not_before and (self.last is None or window.starts_at < self.last.ends_at)


EVERYTHING_CLOSED = Selection()


class Tested(Record, Figured, frozen=True, kw_only=True):
    """Differences between figures, each with its p-value and its corrected p-value."""

    tests: Annotated[int, says("the number of independent comparisons among the differences.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the differences, by statistic.")] = ()

    def __iter__(self) -> Iterator[tuple[FigureGroup, Figure]]:
        return ((group, figure) for group in self.groups for figure in group.figures)

    @property
    def p_value_corrected(self) -> float | None:
        """The smallest corrected p-value of all differences. None if there are too few reports."""
        p_values = (figure.p_value_corrected for _, figure in self)
        return min((p_value for p_value in p_values if p_value is not None), default=None)


class ChangeVerdict(StrEnum):
    """The verdict on whether a figure changed, corrected for all comparisons in the report."""

    RISING = "rising"
    FALLING = "falling"
    HIGHER_SINCE = "higher since"
    LOWER_SINCE = "lower since"
    CHANGED = "changed"
    PERHAPS_CHANGED = "perhaps changed"
    NO_CHANGE = "no change seen"
    TOO_FEW = "too few reports to say"

    @property
    def is_change(self) -> bool:
        """Whether the verdict is a change that chance alone is unlikely to explain."""
        return self not in {ChangeVerdict.PERHAPS_CHANGED, ChangeVerdict.NO_CHANGE, ChangeVerdict.TOO_FEW}


class Change(Figure, frozen=True, kw_only=True):
    """A figure that changed or may have changed, and the size of the change.

    * For a trend (rising or falling), the size is the rise of a straight line from the first window
      to the last.
    * For a step (higher or lower since a window), the size is the mean from this window on, minus
      the mean of earlier windows.
    * Otherwise, the size is the figure in the last window minus the figure in the first.
    """

    statistic: Annotated[str, says("the statistic of the figure.")]
    verdict: Annotated[ChangeVerdict, says("the kind of change.")]
    since: Annotated[str | None, says("the first window after a step. None if the change is not a step.")] = None
    is_new: Annotated[
        bool, says("whether only the last window shows the change. The next window may not confirm the change.")
    ] = False


class Changes(Tested, frozen=True, kw_only=True):
    """The changes in the answers to one metric over its closed windows."""

    metric: Annotated[str, says("the name of the metric.")]
    edition: Annotated[str, says("12 hex digits that identify the meaning of the reports.")]
    first: Annotated[
        str,
        says(
            "the name of the first closed window with enough reports. If fewer than two windows have enough reports, "
            "this is the first closed window with any reports."
        ),
    ]
    last: Annotated[
        str,
        says(
            "the name of the last closed window with enough reports. If fewer than two windows have enough reports, "
            "this is the last closed window with any reports."
        ),
    ]
    windows: Annotated[int, says("the number of compared windows, from the first to the last.")]
    since: Annotated[
        str | None,
        says(
            "the window given with `--since`. Differences then compare this window and later ones with the windows "
            "before it. If None, differences compare the last window with the first."
        ),
    ] = None
    left_out: Annotated[
        tuple[str, ...],
        says("the windows that began before the window given with `--since`, and ended during or after it."),
    ] = ()
    found: Annotated[
        tuple[Change, ...],
        says(
            "the figures that changed or may have changed, each with the kind of change that describes it best. They "
            "are sorted by corrected p-value."
        ),
    ] = ()
    untested: Annotated[tuple[str, ...], says("the statistics of the question that are not tested for changes.")] = ()

    def group_of(self, change: Change) -> FigureGroup:
        """Return the differences in the statistic that a change is about."""
        return next(group for group in self.groups if group.statistic == change.statistic)

    @property
    def verdict(self) -> ChangeVerdict:
        """The verdict on the figure with the most significant change."""
        if self.found:
            return self.found[0].verdict
        return ChangeVerdict.TOO_FEW if self.p_value_corrected is None else ChangeVerdict.NO_CHANGE


class Effect(Tested, frozen=True, kw_only=True):
    """The differences between two public strata in one metric and one closed window.

    Each difference is the figure of the second stratum minus the figure of the first.
    """

    metric: Annotated[str, says("the name of the question.")]
    window: Annotated[str, says("the name of the window.")]
    first: Annotated[str, says("the stratum that is subtracted, such as ``platform=ios``.")]
    second: Annotated[str, says("the stratum from which the first is subtracted.")]


class Precision(Record, frozen=True):
    """The width of a window's intervals, and the number of reports for an acceptable width."""

    reach: Annotated[float, says("the largest distance from an interval's middle to its end.")]
    range: Annotated[float, says("the length of the range of possible figures; 1 for shares.")]
    reports_needed: Annotated[
        int | None,
        says(
            "the approximate number of reports in a window that keeps `reach` within `TOO_FAR` times `range`, for "
            "any answers. None if `reach` is within this limit already."
        ),
    ]


class Highlight(Record, frozen=True, kw_only=True):
    """The results that a page or a table shows first about one metric."""

    shown: Annotated[
        MetricEstimate,
        says(
            "the window shown first. This is the last closed window with reports or, if there is none, the last "
            "window with reports or, if there is none, the last window. P-values of differences between groups in this "
            "window are corrected for all such differences in the windows that are shown first."
        ),
    ]
    positions: Annotated[tuple[int, ...], says("the positions of the shown values, in the domain's order.")]
    left_out: Annotated[int, says("the number of values that are not shown.")]
    precision: Annotated[Precision, says("the width of the intervals in the window shown first.")]
    independence: Annotated[
        float | None,
        says(
            "for two questions asked together, the p-value of their independence, corrected for all such pairs. None "
            "for other questions."
        ),
    ] = None
    changes: Annotated[
        Changes | None, says("the changes over the closed windows. None unless two closed windows have reports.")
    ] = None
    pooled: Annotated[
        Pooled | None, says("the figures of all windows together. None unless several windows have reports.")
    ] = None


class Skipped(Record, frozen=True):
    """A requested tally that could not be estimated."""

    metric: Annotated[str, says("the metric of the tally.")]
    edition: Annotated[str, says("the edition of the tally.")]
    window: Annotated[str, says("the name of the tally's window.")]
    reason: Annotated[str, says("the reason, and what to do.")]


class EstimateReport(Record, frozen=True, tag_field="population", tag=POPULATION):
    """A report: all figures of a set of tallies. The figures describe the participating devices."""

    schema_number: ClassVar[int | None] = SCHEMA
    unwritten: ClassVar[frozenset[str]] = frozenset({"highlights"})

    confidence: Annotated[float, says("the confidence of every interval.")]
    metrics: Annotated[
        tuple[MetricEstimate, ...],
        says("the estimates of each metric and window, in the registry's order and then by window."),
    ]
    skipped: Annotated[tuple[Skipped, ...], says("the skipped tallies, in the order of the tallies.")]
    simultaneous: Annotated[
        bool, says("whether the confidence applies to all intervals of a metric and window together.")
    ]
    composed: Annotated[
        tuple[Composed, ...],
        says("the joint privacy loss of each window's tallies; empty unless central epsilons were requested."),
    ] = ()
    pooled: Annotated[
        tuple[Pooled, ...], says("the figures of all windows of a metric together; empty unless requested.")
    ] = ()
    changes: Annotated[
        tuple[Changes, ...],
        says("the changes of each question that has reports in at least two closed windows."),
    ] = ()
    effects: Annotated[
        tuple[Effect, ...], says("the differences between public strata, by question and window; empty without strata.")
    ] = ()
    highlights: Annotated[
        tuple[Highlight, ...],
        says(
            "the first results that a table or a page shows for each question, in the order of the questions; empty "
            "unless requested. Not in JSON."
        ),
    ] = ()
    snapshot_at: Annotated[
        datetime | None,
        says(
            "the UTC time at which the collector read the windows that are still open. None if the tallies do not "
            "contain this time."
        ),
    ] = None
    is_trial: Annotated[bool, says("whether all reports come from a trial by the app's developers.")] = False
