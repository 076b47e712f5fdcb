"""One question of the page: its figures with small charts, and the sentences about them."""

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
    too_few,
    verdict_of,
)
from estimator.render.rounding import Unit, within
from estimator.render.words import HARDLY_POSSIBLE, central_words, exact_loss, short_loss, with_titles
from estimator.report.changes import untested_figures
from estimator.report.conclusions import by_value
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import FigureKey
from estimator.results.metric import Central, MetricEstimate
from estimator.results.report import Changes, Effect, Highlight
from estimator.statistics.confidence import EXACT_BELOW
from estimator.words import in_unit, plural, short

WIDTH, HEIGHT, MARGIN = 120, 28, 2

Run = Sequence[tuple[int, Estimate]]
"""Consecutive windows, each with its position and its estimate."""

MOST_CHANGES = 20
"""How many changes the table shows, the clearest first. JSON has all of them."""

MOST_PLACES: Final = 50_000
"""The maximum windows of all questions on a page: fifty questions on a thousand days. A window of a
category of six values takes 330 bytes, so that these take 17 MB; more values take more.
"""

REPORTS: Final = "Reports"
"""The term of the fact that counts all reports."""

NO_TALLY: Final = Headline("", "There is no tally that may be shown yet.")


@dataclass(frozen=True, slots=True)
class MetricView:
    """The part of a page about one question, for the template.

    Attributes:
        metric: its definition.
        headline: the headline of the window that is shown first.
        verdict: whether something changed.
        facts: terms and their values.
        window: the name of the window that is shown first. None without any window.
        preliminary: whether that window can still change.
        reports: the number of reports in that window.
        also: further figures of that window.
        warnings: sentences that keep a reader from concluding too much.
        groups: the figures of that window.
        left_out: how many values are not shown, in words; empty if all are.
        joint: the view of two questions asked together. None for any other question.
        extras: the further tables of that window that were requested.
        changes: label, unit and change of everything compared, the clearest first.
        spark: a small chart; None where there is none.
        spark_label: what that chart shows.
        data: for the charts. None where there is nothing to draw.

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
        """The title that people read instead of its name."""
        return self.metric.title

    @property
    def texts(self) -> tuple[Extra, ...]:
        """The table that a card shows instead of a chart, which texts do not have."""
        return tuple(extra for extra in self.extras[:1] if extra.rows and not self.groups)

    @property
    def counted(self) -> str:
        """How numbers beyond the range are counted; empty if they are not."""
        return self.metric.kind.counted(shipped())

    @property
    def flags(self) -> tuple[str, ...]:
        """Facts to know about the answer, in words for the overview."""
        flags = {"too uncertain to conclude": bool(self.warnings), "preliminary": self.preliminary}
        return tuple(flag for flag, applies in flags.items() if applies)

    @property
    def has_likeliest(self) -> bool:
        """Whether any figure has a maximum-likelihood value, in any window."""
        return self.data is not None and any(group.likeliest is not None for group in self.data.groups)

    @property
    def shown_changes(self) -> Sequence[tuple[str, Unit, Figure]]:
        """The lines of the table of changes."""
        return self.changes[:MOST_CHANGES]

    @property
    def changes_left_out(self) -> int:
        """How many changes that table leaves out."""
        return max(0, len(self.changes) - MOST_CHANGES)


def unasked(metric: Metric) -> MetricView:
    """Return the view of a question without any tally."""
    return MetricView(metric, NO_TALLY, verdict_of(metric, None, 0), tuple(facts_of(metric, (), None)))


def view_of(  # noqa: PLR0913, PLR0917 all that is shown of a question
    metric: Metric,
    windows: Sequence[MetricEstimate],
    calendar: Sequence[Window],
    highlight: Highlight,
    effects: Sequence[Effect],
    titles: Mapping[str, str],
) -> MetricView:
    """Return the view of one question.

    Args:
        metric: its definition.
        windows: its estimates in chronological order, at least one.
        calendar: all windows of its kind on the page.
        highlight: what is shown first.
        effects: how its public strata differ, the clearest pairs first; those of other windows are
            left out.
        titles: the titles of all questions by name, because two of them may be asked together.

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
        verdict=verdict_of(metric, changes, with_reports, untested_figures(shown)),
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
    """Return the figure to follow over time: one that changed, or otherwise the answer."""
    changed = [each for each in (() if changes is None else changes.found) if each.verdict.is_change]
    if changed:
        return FigureKey(changed[0].statistic, changed[0].value)
    means = shown.group("mean_within")
    return shown.headline if means is None else next(means.keys)


def _warnings(shown: MetricEstimate, highlight: Highlight) -> Iterator[str]:
    """Yield sentences that keep a reader from concluding too much."""
    leading = shown.leading
    if not shown.reports:
        return
    if leading is not None and leading.figures[leading.lead].is_a_point:
        yield HARDLY_POSSIBLE
    uncertain = too_few(shown, highlight.precision)
    if uncertain is not None:
        yield uncertain


def _over_time(windows: Sequence[MetricEstimate], key: FigureKey, calendar: Sequence[Window]) -> list[Figure | None]:
    """Return a figure of the question in each window of the calendar with enough reports."""
    by_window = {window.window: window for window in windows if window.reports >= EXACT_BELOW}
    of_calendar = (by_window.get(window.text) for window in calendar)
    return [None if estimated is None else estimated.figure(key) for estimated in of_calendar]


def facts_of(metric: Metric, windows: Sequence[MetricEstimate], central: Central | None) -> Iterator[tuple[str, str]]:
    """Yield the facts that a reviewer needs about one question: terms and their values.

    Args:
        metric: its definition.
        windows: its estimates, window by window.
        central: the central loss of the shown window's tally. None if it was not requested.

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
            "Epsilon of all reports of an answer that never changes, in this edition",
            f"{exact_loss(permanent)}: even odds can become {odds(metric.channel.permanent_nanos, shipped())}",
        )
    if central is not None:
        against = "against their readers and not against the collector, if the reports counted are honest"
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
    """A small chart.

    Attributes:
        line: the SVG path of the estimates, with a gap where there is none.
        band: the SVG path of the intervals.

    """

    line: str
    band: str


def sparkline(track: Sequence[Estimate | None]) -> Spark | None:
    """Return the chart of a figure over windows. None with fewer than two points."""
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
        return f"M{'L'.join(points)}h0"  # h0 draws a dot where a point has no neighbor

    def band(self, run: Run) -> str:
        there = [self._point(position, estimate.high) for position, estimate in run]
        back = [self._point(position, estimate.low) for position, estimate in reversed(run)]
        return f"M{'L'.join([*there, *back])}Z"

    def _point(self, position: int, value: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * position / max(1, self.windows - 1)
        height = (value - self.least) / (self.most - self.least) if self.most > self.least else 0.5
        return f"{x:.0f} {HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height:.1f}"
