"""A report: the request for it, and all its figures, changes and highlights."""

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
"""The maximum number of values of a large category that are shown, by largest share."""

TOO_FAR: Final = 0.1
"""A fraction of the range. An interval that reaches farther to one side hardly separates one half
from one third.
"""

SCHEMA: Final = 1
"""The number of the schema that JSON, CSV and Parquet follow.

Adding or removing a field, or changing its meaning, takes a new number: readers refuse unknown
schemas.
"""

POPULATION: Final = "taking-part"
"""All figures describe the participating devices: those whose users decline are in no tally.
Standard errors and intervals describe the population from which these devices are a random sample.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """The figures to compute for a tally beside the estimates.

    Attributes:
        simultaneous: simultaneous intervals for all figures of a tally, instead of separate ones.
        covariance: the covariance of the shares.
        central_delta: the delta of each closed tally's central epsilon, or None to leave it out.
        pool: also all windows of a metric together.
        joint: the figures that follow from the shares of two questions asked together.
        fakes: the assumed fraction of made-up reports, or None to leave it out.
        clusters: clusters of answers that are numbers, counts, pairs, or on a scale.
        ranges: ranges of numbers whose shares are requested: the metric, the start and the end.
        candidates: texts whose shares are requested, for questions about texts.
        highlights: the figures that a table or a page shows first.
        installs: the number of all installations, to bound figures of all; or None.
        asked: the share of devices that are asked, or None to take it from the schedule.
        since: compare the windows from this one on with those before it, in place of every other
            test of changes; or None.

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
    highlights: bool = True
    installs: int | None = None
    asked: float | None = None
    since: Window | None = None


PLAIN = Request()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which windows and metrics a report covers.

    Attributes:
        names: the names of the metrics; () for all. P-values are corrected for all metrics with
            tallies: conclusions on one do not depend on the others shown.
        first: leave out windows that end before this one begins; or None.
        last: leave out windows that begin after this one has ended; or None.
        preliminary: whether to include windows that can still change.

    """

    first: Window | None = None
    last: Window | None = None
    preliminary: bool = False
    names: tuple[str, ...] = ()

    def shows(self, metric: str) -> bool:
        """Whether a metric is covered, or the metric of a stratum or former question."""
        return not self.names or metric.partition("[")[0] in self.names

    def spans(self, window: Window) -> bool:
        """Whether a window lies between the first and the last one, or overlaps one of them.

        A day may lie in a month, for example.
        """
        not_before = self.first is None or window.ends_at > self.first.starts_at
        return not_before and (self.last is None or window.starts_at < self.last.ends_at)


EVERYTHING_CLOSED = Selection()


class Tested(Record, Figured, frozen=True, kw_only=True):
    """Differences of figures, each with its p-values."""

    tests: Annotated[int, says("the number of independent comparisons among the differences.")]
    groups: Annotated[tuple[FigureGroup, ...], says("the differences, by statistic.")] = ()

    def __iter__(self) -> Iterator[tuple[FigureGroup, Figure]]:
        """Yield every difference, with its group."""
        return ((group, figure) for group in self.groups for figure in group.figures)

    @property
    def p_value_corrected(self) -> float | None:
        """The smallest corrected p-value. None with too few reports."""
        p_values = (figure.p_value_corrected for _, figure in self)
        return min((p_value for p_value in p_values if p_value is not None), default=None)


class ChangeVerdict(StrEnum):
    """Whether a figure changed over the closed windows, given all comparisons of the report."""

    RISING = "rising"
    FALLING = "falling"
    HIGHER_SINCE = "higher since"
    LOWER_SINCE = "lower since"
    CHANGED = "changed"
    MAY_HAVE_CHANGED = "may have changed"
    NO_CHANGE = "no change seen"
    TOO_FEW = "too few reports to say"

    @property
    def is_change(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return self not in {ChangeVerdict.MAY_HAVE_CHANGED, ChangeVerdict.NO_CHANGE, ChangeVerdict.TOO_FEW}


class Change(Figure, frozen=True, kw_only=True):
    """A figure that changed, or may have.

    The figure of a trend is the rise of a straight line from the first window to the last; that of
    a step, the mean over the windows from it on minus the mean over those before; otherwise the
    last window minus the first.
    """

    statistic: Annotated[str, says("the statistic of the figure.")]
    verdict: Annotated[ChangeVerdict, says("the kind of change.")]
    since: Annotated[str | None, says("the first window after a step. None if the verdict is not a step.")] = None
    is_new: Annotated[
        bool, says("whether only the last window shows the change. The next window may not confirm it.")
    ] = False


class Changes(Tested, frozen=True, kw_only=True):
    """The changes in the answers to one question: the last window minus the first, and more."""

    metric: Annotated[str, says("the name.")]
    edition: Annotated[str, says("12 hex digits that identify the meaning of the reports.")]
    first: Annotated[
        str,
        says(
            "the name of the first closed window with enough reports. If fewer than two windows"
            " have enough, the first window with any reports."
        ),
    ]
    last: Annotated[str, says("the name of the last such window.")]
    windows: Annotated[int, says("the number of such windows.")]
    since: Annotated[
        str | None,
        says(
            "the window given with `--since`: differences compare it and later windows with the"
            " windows before it. None if they compare the last window with the first."
        ),
    ] = None
    left_out: Annotated[
        tuple[str, ...],
        says("the windows that began before the window given with `--since`, and ended during or after it."),
    ] = ()
    found: Annotated[
        tuple[Change, ...],
        says("the figures that changed or may have changed, each with its clearest test; the clearest first."),
    ] = ()
    untested: Annotated[
        tuple[str, ...], says("the statistics of the question's untested figures, whose changes are unknown.")
    ] = ()

    def group_of(self, change: Change) -> FigureGroup:
        """Return the differences of a change's statistic."""
        return next(group for group in self.groups if group.statistic == change.statistic)

    @property
    def verdict(self) -> ChangeVerdict:
        """The verdict on the clearest figure."""
        if self.found:
            return self.found[0].verdict
        return ChangeVerdict.TOO_FEW if self.p_value_corrected is None else ChangeVerdict.NO_CHANGE


class Effect(Tested, frozen=True, kw_only=True):
    """How the answers to one question differ between two public strata, in one closed window.

    Figures are the second stratum minus the first.
    """

    metric: Annotated[str, says("the question's name.")]
    window: Annotated[str, says("the name of the window.")]
    first: Annotated[str, says("the stratum that is subtracted, such as ``platform=ios``.")]
    second: Annotated[str, says("the stratum from which it is subtracted.")]


class Precision(Record, frozen=True):
    """How wide the intervals of a window are, compared with a width that allows conclusions."""

    reach: Annotated[float, says("the largest distance from an interval's middle to its end.")]
    range: Annotated[float, says("the length of the range in which the interval lies: 1 for shares.")]
    reports_needed: Annotated[
        int | None,
        says(
            "about how many reports in a window keep the reach within `TOO_FAR` of the range, "
            "whatever the answers are. None if the reach is within it already."
        ),
    ]


class Highlight(Record, frozen=True, kw_only=True):
    """The first things that a page or a table shows about one question."""

    shown: Annotated[
        MetricEstimate,
        says(
            "the window shown first: the last closed one with reports; failing that, the last one "
            "with reports; failing that, the last one. Its differences between groups are corrected "
            "for the windows that are shown first."
        ),
    ]
    positions: Annotated[tuple[int, ...], says("the positions of the shown values, in the domain's order.")]
    left_out: Annotated[int, says("the number of values not shown.")]
    precision: Annotated[Precision, says("the precision in the window shown first.")]
    independence: Annotated[
        float | None,
        says("the p-value of two questions asked together, corrected for all such pairs. None for other questions."),
    ] = None
    changes: Annotated[Changes | None, says("over the closed windows. None unless two of them have reports.")] = None
    pooled: Annotated[Pooled | None, says("all windows together. None unless several have reports.")] = None


class Skipped(Record, frozen=True):
    """A requested tally that could not be estimated."""

    metric: Annotated[str, says("the metric of the tally.")]
    edition: Annotated[str, says("the edition of the tally.")]
    window: Annotated[str, says("the name of its window.")]
    reason: Annotated[str, says("the reason, and what would help.")]


class EstimateReport(Record, frozen=True, tag_field="population", tag=POPULATION):
    """All figures of a set of tallies. They describe the participating devices."""

    schema_number: ClassVar[int | None] = SCHEMA
    unwritten: ClassVar[frozenset[str]] = frozenset({"highlights"})

    confidence: Annotated[float, says("the confidence of every interval.")]
    metrics: Annotated[tuple[MetricEstimate, ...], says("the metrics, in the registry's order and then by window.")]
    skipped: Annotated[tuple[Skipped, ...], says("the skipped tallies, in the order of the tallies.")]
    simultaneous: Annotated[bool, says("whether the confidence covers all intervals of a metric and window together.")]
    composed: Annotated[
        tuple[Composed, ...],
        says("the joint privacy loss of each window's tallies; empty unless central epsilons were requested."),
    ] = ()
    pooled: Annotated[tuple[Pooled, ...], says("all windows of a metric together; empty unless requested.")] = ()
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
            "what a table or a page shows first about each question, in their order; empty unless "
            "requested. Not in JSON."
        ),
    ] = ()
    snapshot_at: Annotated[
        datetime | None,
        says("the UTC time at which the collector read the windows that are still open. None if it does not say."),
    ] = None
    is_trial: Annotated[bool, says("whether all reports come from a trial by the app's developers.")] = False
