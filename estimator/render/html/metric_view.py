"""The part of the page about one metric: its figures, small charts and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.statement import odds, one_report
from client_sdk.protocol.window import Window
from estimator.render.html.chart_data import MetricData, ShownGroup, data_of, groups_of
from estimator.render.html.tables import Extra, JointView, effects_table, extras_of, joint_view
from estimator.render.html.wording import (
    Headline,
    WordedConclusion,
    also_of,
    headline_of,
    labeled_changes,
    verdict_of,
    wide_intervals,
)
from estimator.render.rounding import Unit, within
from estimator.render.words import HARDLY_POSSIBLE, central_words, exact_loss, short_loss, with_titles
from estimator.report.conclusions import by_value
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import FigureKey
from estimator.results.metric import Central, MetricEstimate
from estimator.results.report import Changes, Effect, Highlight
from estimator.statistics.confidence import EXACT_BELOW
from estimator.words import in_unit, plural, short

WIDTH, HEIGHT, MARGIN = 120, 28, 2

Run = Sequence[tuple[int, Estimate]]
"""The positions and estimates of consecutive windows that all have an estimate."""

MOST_CHANGES = 20
"""The maximum number of changes in the table of changes. The table contains the most significant
changes, and JSON contains all changes.
"""

MOST_PLACES: Final = 50_000
"""The maximum number of windows on a page, added up over all metrics. For example, fifty
metrics of a thousand days each are allowed.

For a category with six values, a window takes 330 bytes, so 50,000 windows take 17 MB. For a
category with more values, a window takes more than 330 bytes.
"""

REPORTS: Final = "Reports"
"""The label of a metric's total number of reports."""

NO_TALLY: Final = Headline("", "No tally may be shown yet.")


@dataclass(frozen=True, slots=True)
class MetricView:
    """The part of a page about one metric, for the template.

    Attributes:
        facts: pairs of a label and a value, such as ``Epsilon of a report`` and ``1``.
        window: the name of the window that is shown first. None if the metric has no window.
        preliminary: whether the window that is shown first is still open.
        also: further headlines of the window that is shown first, such as the median.
        warnings: sentences that warn readers against unjustified conclusions.
        left_out: a phrase on the number of values that are not shown. Empty if all values are
            shown.
        joint: the view of a pair of metrics. None for other metrics.
        changes: the label, the unit and the change of every figure that was tested for changes, the
            most significant change first.
        spark: a small chart of a figure over time. None if fewer than two windows have an estimate.
        data: the data of the charts. None if there is nothing to draw.

    """

    metric: Metric
    headline: Headline
    verdict: WordedConclusion
    facts: tuple[tuple[str, str], ...]
    window: str | None = None
    preliminary: bool = False
    reports: int = 0
    also: tuple[Headline, ...] = ()
    warnings: tuple[str, ...] = ()
    groups: tuple[ShownGroup, ...] = ()
    left_out: str = ""
    joint: JointView | None = None
    extras: tuple[Extra, ...] = ()
    changes: Sequence[tuple[str, Unit, Figure]] = ()
    spark: Spark | None = None
    spark_label: str = ""
    data: MetricData | None = None

    @property
    def title(self) -> str:
        """The human-readable title of the metric."""
        return self.metric.title

    @property
    def texts(self) -> tuple[Extra, ...]:
        """The table of texts, if the metric is about texts, and otherwise ()."""
        return tuple(extra for extra in self.extras[:1] if extra.rows and not self.groups)

    @property
    def counted(self) -> str:
        """A note on how numbers outside the range are counted. Empty if there is no range."""
        return self.metric.kind.counted(shipped())

    @property
    def flags(self) -> tuple[str, ...]:
        """A few words of caution about the figures, for the overview."""
        flags = {
            "very unlikely": HARDLY_POSSIBLE in self.warnings,
            "wide intervals": any(warning != HARDLY_POSSIBLE for warning in self.warnings),
            "preliminary": self.preliminary,
        }
        return tuple(flag for flag, applies in flags.items() if applies)

    @property
    def has_likeliest(self) -> bool:
        """Whether any figure has a maximum-likelihood value, in any window."""
        return self.data is not None and any(group.likeliest is not None for group in self.data.groups)

    @property
    def shown_changes(self) -> Sequence[tuple[str, Unit, Figure]]:
        """The changes that the table of changes shows."""
        return self.changes[:MOST_CHANGES]

    @property
    def changes_left_out(self) -> int:
        """The number of changes that the table leaves out."""
        return max(0, len(self.changes) - MOST_CHANGES)


def unasked(metric: Metric) -> MetricView:
    """Return the view of a metric without any tally."""
    return MetricView(metric, NO_TALLY, verdict_of(metric, None, 0), tuple(facts_of(metric, (), None)))


def view_of(  # noqa: PLR0913, PLR0917 all that is shown of a question
    metric: Metric,
    windows: Sequence[MetricEstimate],
    calendar: Sequence[Window],
    highlight: Highlight,
    effects: Sequence[Effect],
    titles: Mapping[str, str],
) -> MetricView:
    """Return the view of one metric.

    ``windows`` are the estimates of the metric in chronological order, at least one. ``calendar``
    contains all windows of the same kind on the page. ``effects`` are the differences between
    public strata, the most significant first. ``titles`` maps the name of each metric to its title,
    for the sentences about pairs of metrics.
    """
    shown, positions, changes = highlight.shown, highlight.positions, highlight.changes
    shown = with_titles(shown, titles)
    windows = [shown if window.window == shown.window else window for window in windows]
    with_reports = sum(window.reports > 0 and window.closed for window in windows)
    of_window = [effect for effect in effects if effect.window == shown.window]
    groups = tuple(groups_of(shown, positions)) if shown.reports else ()
    values, joint = by_value(shown), joint_view(shown, highlight.independence)
    followed = followed_figure(shown, changes)
    return MetricView(
        metric=metric,
        headline=headline_of(shown, joint),
        also=tuple(also_of(shown)),
        window=shown.window,
        preliminary=not shown.closed,
        reports=shown.reports,
        verdict=verdict_of(metric, changes, with_reports, shown.untested if changes is None else changes.untested),
        warnings=tuple(_warnings(shown, highlight)),
        groups=groups,
        left_out="" if values is None or not highlight.left_out else values.more(highlight.left_out),
        joint=joint,
        extras=(*extras_of(shown, positions), *([effects_table(of_window)] if of_window else [])),
        changes=labeled_changes(changes),
        spark=None if followed is None else sparkline(_over_time(windows, followed, calendar)),
        spark_label=f"{with_reports} windows, {windows[0].window} to {windows[-1].window}",
        facts=tuple(facts_of(metric, windows, shown.central)),
        data=data_of(windows, positions, calendar, shown, highlight.pooled, followed) if groups else None,
    )


def followed_figure(shown: MetricEstimate, changes: Changes | None) -> FigureKey | None:
    """Return the figure to draw over time: a figure that changed, or else the main figure."""
    changed = [each for each in (() if changes is None else changes.found) if each.verdict.is_change]
    if changed:
        return FigureKey(changed[0].statistic, changed[0].value)
    means = shown.group("mean_within")
    return shown.headline if means is None else next(means.keys)


def _warnings(shown: MetricEstimate, highlight: Highlight) -> Iterator[str]:
    leading = shown.leading
    if not shown.reports:
        return
    if leading is not None and leading.figures[leading.lead].is_a_point:
        yield HARDLY_POSSIBLE
    wide = wide_intervals(shown, highlight.precision)
    if wide is not None:
        yield wide


def _over_time(windows: Sequence[MetricEstimate], key: FigureKey, calendar: Sequence[Window]) -> list[Figure | None]:
    by_window = {window.window: window for window in windows if window.reports >= EXACT_BELOW}
    of_calendar = (by_window.get(window.text) for window in calendar)
    return [None if estimated is None else estimated.figure(key) for estimated in of_calendar]


def facts_of(metric: Metric, windows: Sequence[MetricEstimate], central: Central | None) -> Iterator[tuple[str, str]]:
    """Yield labels and values of the facts that a privacy reviewer needs about one metric.

    ``central`` is the privacy loss from publishing the tally of the window that is shown first, or
    None if not requested.
    """
    if metric.title != metric.name:
        yield "Name", metric.name
    yield "Kind of question", f"{in_unit(metric.kind.name, metric.unit)}, asked once a {metric.window}"
    yield "Mechanism", metric.channel.name
    epsilon = as_float(metric.epsilon_nanos)
    yield "Epsilon of a report", f"{exact_loss(epsilon)}: even odds can become {''.join(one_report(metric, shipped()))}"
    if metric.delta:
        yield "Delta of a report", f"at most {short_loss(float_ceiling(metric.delta))}"
    if metric.channel.permanent_nanos:
        permanent = as_float(metric.channel.permanent_nanos)
        yield (
            "Epsilon of all reports of this edition, if the answer never changes",
            f"{exact_loss(permanent)}: even odds can become {odds(metric.channel.permanent_nanos, shipped())}",
        )
    if central is not None:
        against = "limits what readers of the tallies learn, but not the collector, if all counted reports are honest"
        yield "If only tallies are published", f"{central_words(central)}, {against}"
    yield "Edition", metric.edition
    if windows:
        total = sum(window.reports for window in windows)
        yield REPORTS, f"{plural(total, 'report')} in {plural(len(windows), 'window')}"
    if metric.owner:
        yield "Owner", short(metric.owner)
    yield "Asked until", _end(metric)


def _end(metric: Metric) -> str:
    if metric.expires is None:
        return "further notice"
    return f"the end of the {metric.window} that contains {metric.expires}"


@dataclass(frozen=True, slots=True)
class Spark:
    """The SVG paths of a figure over time and of its intervals. Missing estimates leave gaps."""

    line: str
    band: str


def sparkline(track: Sequence[Estimate | None]) -> Spark | None:
    """Return the small chart of a figure over windows. None if there are fewer than two points."""
    known = [estimate for estimate in track if estimate is not None and estimate.estimate is not None]
    if len(known) < 2:  # noqa: PLR2004 a line has two ends
        return None
    least = min(estimate.low for estimate in known)
    most = max(estimate.high for estimate in known)
    scale = _Scale(least, most, len(track))
    runs = list(_runs(track))
    return Spark("".join(map(scale.line, runs)), "".join(map(scale.band, runs)))


def _runs(track: Sequence[Estimate | None]) -> Iterator[Run]:
    for is_known, run in groupby(enumerate(track), key=lambda at: at[1] is not None and at[1].estimate is not None):
        if is_known:
            yield [(position, estimate) for position, estimate in run if estimate is not None]


@dataclass(frozen=True, slots=True)
class _Scale:
    least: float
    most: float
    windows: int

    def line(self, run: Run) -> str:
        points = [
            self._point(position, within(estimate.estimate, estimate.low, estimate.high) or 0.0)
            for position, estimate in run
        ]
        return f"M{'L'.join(points)}h0"  # h0 draws a dot if a point has no neighbor

    def band(self, run: Run) -> str:
        there = [self._point(position, estimate.high) for position, estimate in run]
        back = [self._point(position, estimate.low) for position, estimate in reversed(run)]
        return f"M{'L'.join([*there, *back])}Z"

    def _point(self, position: int, value: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * position / max(1, self.windows - 1)
        height = (value - self.least) / (self.most - self.least) if self.most > self.least else 0.5
        return f"{x:.0f} {HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height:.1f}"
