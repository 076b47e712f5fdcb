"""The figures of a metric as the page shows them, and the data of its charts.

The page first shows one window, and a chart of one figure over all windows. Readers can then choose
other windows.

The data is compact, so a page with ninety windows of fifty metrics stays small. Numbers for charts
are whole multiples of a step, which is about a hundredth of the narrowest interval. For example,
with the step 0.001, the share 0.1234 is written as 123. As in the page's texts, intervals are
rounded outward, and estimates are moved into their intervals. The page's script does not round,
because each number may be rounded only once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import field
from msgspec.structs import asdict, replace

from client_sdk.protocol.window import Window
from estimator.render.html.tables import axes_of
from estimator.render.rounding import PERCENT, SENTENCE_FIGURES, Unit, steps_of, unit_of
from estimator.results.estimate import Ends, Estimate, Figure, FigureLabel, Figures, Record
from estimator.results.group import FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate, Pooled
from estimator.results.statistic import STATISTICS, Chart
from estimator.words import is_yes_or_no, short

# The steps of a scale may be named after ranges of probabilities, such as "10 to 30%". These are
# patterns of such names.
NUMBER: Final = r"(\d{1,3}(?:\.\d+)?)"

BELOW: Final = re.compile(rf"(?:below|under|less than|<) ?{NUMBER} ?%")

BETWEEN: Final = re.compile(rf"{NUMBER} ?%? ?(?:to|[-\u2013]) ?{NUMBER} ?%")

FROM: Final = re.compile(rf"{NUMBER} ?% (?:or|and) (?:more|above)|(?:at least|from|≥) ?{NUMBER} ?%")

FINEST = 1e-12
"""An interval shorter than this length counts as a point. The step of a chart's numbers is chosen
without such intervals.
"""

ALONE: Final = frozenset({"bar", "mean"})
"""The charts of a single figure. The page shows these charts only as the first chart of a metric.

All other charts are collapsed. A collapsed chart of one figure would only repeat the table.
"""

KEPT_DIGITS = 11
"""The maximum number of digits of a number for a chart. `numbers.js` allows more digits."""

BIN_DIGITS: Final = 4
"""The maximum number of digits of a histogram's numbers. Further digits would not be visible in a
chart.
"""

KnownEstimate = Estimate | None

WithReports = Sequence[MetricEstimate | None]
"""The estimates of every window from the first to the last. None for a window without reports."""

Steps = list[list[int | None]]
"""Numbers as multiples of a step: one row per figure, one entry per window, None if unknown."""


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """The figures of one statistic, such as shares, that the page shows for one window.

    ``labels`` is the same in every window of a metric.
    """

    group: FigureGroup
    title: str
    unit: Unit
    labels: tuple[str, ...]
    figures: Figures

    @property
    def rows(self) -> list[tuple[str, Figure]]:
        """The shown figures, each with its label."""
        return list(zip(self.labels, self.figures, strict=True))

    @property
    def is_titled(self) -> bool:
        """Whether to show the title. False if the label of the only figure repeats the title."""
        return [label.casefold() for label in self.labels] != [self.title.casefold()]


def groups_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[ShownGroup]:
    """Yield the statistics that the page shows for one window.

    All of a metric's windows with reports have the same statistics. The only exception is a model,
    which has no statistics in a window with too few reports. ``positions`` are the positions of the
    shown values among all values.
    """
    for group in estimated.groups:
        if group.about.on_page:
            figures = shown_at(group, positions)
            labels = tuple(group.about.label(value) for value in figures.labels)
            title = group.about.title.format(*map(short, estimated.names or ()))
            yield ShownGroup(group, title, unit_of(group), labels, figures)


def shown_at(group: FigureGroup, positions: Sequence[int]) -> Figures:
    """Return the figures that the page shows.

    For a statistic with one figure per value, such as shares, return only the figures of the shown
    values. For any other statistic, such as quantiles, return all figures.
    """
    return group.figures.at(positions) if group.about.by_value else group.figures


class Tracks(Record, frozen=True, kw_only=True):
    """Rows of estimates in the form that the page's script reads.

    Names of fields in JSON are short, because they occur in every chart. Numbers are multiples of a
    step. None stands for a missing estimate.

    Attributes:
        suffix: the unit, with a space in front.
        texts: for each figure and window, the estimate, both ends of the interval and any
            maximum-likelihood value, rounded and separated by spaces.
        down: the distances from the estimates to the lower ends. None if every interval begins at
            0.
        up: the distances from the estimates to the upper ends.
        likeliest: the maximum-likelihood values minus the estimates. None if there are no such
            values.

    """

    step: float
    suffix: str
    texts: list[list[str | None]] = field(name="t")
    estimates: Steps = field(name="e")
    down: Steps | None = field(name="d", default=None)
    up: Steps = field(name="u")
    likeliest: Steps | None = field(name="m", default=None)


class GroupTracks(Tracks, frozen=True, kw_only=True):
    """The figures of one statistic over time.

    Attributes:
        line: the name of the line that shows a figure over time, with ``{}`` for the figure's
            label.
        brief: the estimates in the window that is shown first, rounded as in a headline.
        ordered: whether the order of the figures is meaningful.
        ends: the smallest and the largest possible mean. None for statistics other than means.
        log: whether the chart draws the figures on a logarithmic scale.

    """

    title: str
    percent: bool
    labels: list[str]
    line: str
    brief: list[str]
    ordered: bool = False
    ends: Ends | None = None
    log: bool = False


class HistogramTracks(Tracks, frozen=True, kw_only=True):
    """The histogram of a distribution: the share of each bin and the edges between bins."""

    edges: Sequence[FigureLabel]


class BandTracks(Tracks, frozen=True, kw_only=True):
    """A distribution function, and the numbers at which it is estimated."""

    at: Sequence[FigureLabel]


class JointTracks(Tracks, frozen=True, kw_only=True):
    """The shares of answers within groups, for a pair of metrics or for a model.

    Attributes:
        names: the names of the two metrics. None for a model.
        outcomes: the answers whose shares the chart draws.
        steps: the range of probabilities of each group, if groups are ranges such as "10 to 30%".

    """

    names: tuple[str, str] | None
    groups: Sequence[str]
    outcomes: Sequence[str]
    steps: list[tuple[float, float]] | None = None


class Drawing(NamedTuple):
    """A chart of one window.

    ``chart`` is the name of the chart in the page's script. ``group`` is the position of the
    chart's statistic in ``MetricData.groups``, or 0 if there is no such statistic.
    """

    chart: str
    group: int = 0


class MetricData(Record, frozen=True, kw_only=True):
    """Everything about a metric that the page's script draws.

    Attributes:
        kind: the kind of the metric's windows: day, week or month.
        at: the index of the window that is shown first, among all windows of the same kind.
        lead: the index, among the figures of all statistics, of the figure that is drawn over time.
        open: the positions of the open windows.
        drawings: the charts of a window. The first chart is visible, and the others are collapsed.
        groups: the figures of each shown statistic in all windows.
        pooled: the number of reports in all windows together. None if windows are not pooled.
        bins: the histogram of each window, if there is one.
        band: the distribution function of each window, if there is one.
        joint: the shares within groups, for a pair of metrics.

    """

    kind: str
    at: int
    lead: int
    reports: list[int | None] = field(name="n")
    open: list[int]
    unit: str = ""
    drawings: tuple[Drawing, ...]
    groups: tuple[GroupTracks, ...]
    pooled: int | None = None
    bins: HistogramTracks | None = None
    band: BandTracks | None = None
    joint: JointTracks | None = None


def data_of(  # noqa: PLR0913, PLR0917 all that a question shows
    windows: Sequence[MetricEstimate],
    positions: Sequence[int],
    calendar: Sequence[Window],
    shown: MetricEstimate,
    pooled: Pooled | None,
    followed: FigureKey | None,
) -> MetricData:
    """Return everything about a metric that the page's script draws.

    Arrays have an entry for each window of ``calendar``. If windows are pooled, a last entry
    describes all windows together.

    Args:
        windows: the estimates of each window. At least one window has reports.
        positions: the positions of the shown values among all values of the metric.
        calendar: all windows of the same kind.
        shown: the window that is shown first.
        pooled: the figures of all windows together. None if windows are not pooled.
        followed: the figure that is drawn over time. None to draw the first figure.

    """
    by_window = {estimated.window: estimated for estimated in windows}
    track = [by_window.get(window.text) for window in calendar]
    with_reports = [estimated if estimated is not None and estimated.reports else None for estimated in track]
    bins, band = _distribution(with_reports)
    joint = _joint(with_reports, shown.names)
    groups = tuple(groups_of(shown, positions))
    keys = [FigureKey(group.group.statistic, value) for group in groups for value in group.figures.labels]
    return MetricData(
        kind=str(shown.span.kind),
        at=calendar.index(shown.span),
        lead=keys.index(followed) if followed in keys else 0,
        reports=[None if estimated is None else estimated.reports for estimated in track],
        open=[slot for slot, estimated in enumerate(track) if estimated is not None and not estimated.closed],
        unit=next((group.unit for group in shown.groups if group.about.is_mean), ""),
        drawings=_drawings(groups, joint, has_bins=bins is not None),
        groups=tuple(_groups(with_reports, shown, groups, positions, pooled)),
        pooled=None if pooled is None else pooled.reports,
        bins=bins,
        band=band,
        joint=joint,
    )


def _drawings(groups: Sequence[ShownGroup], joint: JointTracks | None, *, has_bins: bool) -> tuple[Drawing, ...]:
    drawn = [
        (group.group.about.drawn_first, Drawing(_form(group, chart), place))
        for place, group in enumerate(groups)
        if (chart := group.group.about.chart) is not None
    ]
    if has_bins:
        drawn += [(STATISTICS["bin"].drawn_first, Drawing("histogram")), (0, Drawing("band"))]
    if joint is not None:
        form = "calibration" if joint.steps is not None else "groups" if len(joint.outcomes) == 2 else "cells"  # noqa: PLR2004 with two answers, the share of one determines the other
        drawn.append((STATISTICS["share_within"].drawn_first, Drawing(form)))
    in_order = [drawing for _, drawing in sorted(drawn, key=lambda each: -each[0])]
    return (*in_order[:1], *(each for each in in_order[1:] if each.chart not in ALONE))


def _form(group: ShownGroup, chart: Chart) -> str:
    values = group.figures.labels
    if chart is Chart.SHARES:
        if is_yes_or_no(values):
            return "bar"
        return "columns" if all(type(value) is int for value in values) else "bars"
    return str(chart.value)


def _groups(
    with_reports: WithReports,
    shown: MetricEstimate,
    groups: Iterable[ShownGroup],
    positions: Sequence[int],
    pooled: Pooled | None,
) -> Iterator[GroupTracks]:
    """Yield each statistic of the window ``shown``, with the statistic's figures in all windows."""
    is_scale = any(group.about.is_mean and not group.about.of_sets for group in shown.groups)
    for group in groups:
        by_window = [_figures(estimated, group.group, positions) for estimated in with_reports]
        rows = _rows([None if figures is None else list(figures) for figures in by_window])
        if pooled is not None:
            together = _figures(pooled, group.group, positions) or [None] * len(rows)
            rows = [[*row, figure] for row, figure in zip(rows, together, strict=True)]
        about = group.group.about
        yield GroupTracks(
            title=group.title,
            percent=group.unit is PERCENT,
            labels=list(group.labels),
            line=(about.line or "{}").replace("{}", "“{}”" if about.is_of_answers else "{}"),
            brief=[group.unit.rounded(figure, SENTENCE_FIGURES).estimate for figure in group.figures],
            ordered=is_scale or not about.by_value,
            ends=group.group.ends if about.is_mean else None,
            log=about.scale.is_relative,
            **asdict(tracks(rows, group.unit)),
        )


def _figures(estimated: MetricEstimate | Pooled | None, like: FigureGroup, positions: Sequence[int]) -> Figures | None:
    group = None if estimated is None else estimated.group(like.statistic)
    return None if group is None else shown_at(group, positions)


def _drawn(with_reports: WithReports, chart: Chart) -> tuple[FigureGroup, list[list[KnownEstimate]]] | None:
    groups = [None if each is None else _charted(each, chart) for each in with_reports]
    first = next((group for group in groups if group is not None), None)
    if first is None:
        return None
    columns = (None if group is None else group.figures for group in groups)
    return first, _rows([None if each is None else list(_drawable(each)) for each in columns])


def _drawable(figures: Figures) -> Figures:
    """Remove the maximum-likelihood values of figures. Some charts do not draw these values."""
    return Figures(figures.labels, figures.lows, figures.highs, figures.unbiased, figures.standard_errors)


def _charted(estimated: MetricEstimate, chart: Chart) -> FigureGroup | None:
    return next((group for group in estimated.groups if group.about.chart is chart), None)


def _distribution(with_reports: WithReports) -> tuple[HistogramTracks, BandTracks] | tuple[None, None]:
    """Return the histogram and the distribution function of each window.

    Returns (None, None) if no distribution is drawn.
    """
    bins, band = _drawn(with_reports, Chart.HISTOGRAM), _drawn(with_reports, Chart.BAND)
    if bins is None or band is None:
        return None, None
    histogram = HistogramTracks(edges=bins[0].figures.labels, **asdict(tracks(bins[1], PERCENT, BIN_DIGITS)))
    if not any(share.low for row in bins[1] for share in row if share is not None):
        histogram = replace(histogram, down=None)
    return histogram, BandTracks(at=band[0].figures.labels, **asdict(tracks(band[1], PERCENT)))


def _rows(by_window: Sequence[Sequence[Figure] | None]) -> list[list[KnownEstimate]]:
    figures = len(next((each for each in by_window if each is not None), ()))
    return [[None if each is None else each[place] for each in by_window] for place in range(figures)]


def _joint(with_reports: WithReports, names: tuple[str, str] | None) -> JointTracks | None:
    drawn = _drawn(with_reports, Chart.CELLS)
    if drawn is None:
        return None
    cells, rows = drawn
    groups, outcomes = axes_of(cells)
    has_steps = any(_charted(each, Chart.CURVE_OF_STEPS) for each in with_reports if each is not None)
    steps = ranges_of(groups) if has_steps else None
    return JointTracks(names=names, groups=groups, outcomes=outcomes, steps=steps, **asdict(tracks(rows, PERCENT)))


def ranges_of(steps: Sequence[str]) -> list[tuple[float, float]]:
    """Parse the names of a scale's steps as ranges of probabilities.

    For example, "10 to 30%" becomes (0.1, 0.3). Return [] if any name is not such a range.
    """
    ranges = [_range(step) for step in steps]
    known = [each for each in ranges if each is not None and 0 <= each[0] < each[1] <= 1]
    return known if len(known) == len(ranges) else []


def _range(step: str) -> tuple[float, float] | None:
    plain = step.replace("\N{NO-BREAK SPACE}", " ").strip()
    if match := BELOW.fullmatch(plain):
        return 0.0, float(match[1]) / 100
    if match := BETWEEN.fullmatch(plain):
        return float(match[1]) / 100, float(match[2]) / 100
    if match := FROM.fullmatch(plain):
        return float(match[1] or match[2]) / 100, 1.0
    return None


def exponent_of(estimates: Iterable[KnownEstimate], digits: int = KEPT_DIGITS) -> int:
    """Return the exponent x of a chart's step 10**x.

    The step is the largest power of ten that is at most a hundredth of the narrowest interval. If a
    number would otherwise have too many digits, the step is larger.
    """
    known = [estimate for estimate in estimates if estimate is not None and estimate.estimate is not None]
    lengths = (estimate.high - estimate.low for estimate in known)
    narrowest = min((length for length in lengths if length > FINEST), default=1.0)
    largest = max((max(-estimate.low, estimate.high) for estimate in known), default=1.0)
    return max(math.floor(math.log10(narrowest)) - 2, math.floor(math.log10(max(largest, FINEST))) - digits + 1)


def tracks(rows: Sequence[Sequence[KnownEstimate]], unit: Unit, digits: int = KEPT_DIGITS) -> Tracks:
    """Return rows of estimates in the form that the page's script reads.

    Each row contains one figure's estimates in all windows. ``digits`` is the maximum number of
    digits of each number.
    """
    exponent = exponent_of((estimate for row in rows for estimate in row), digits)
    coded = [[_coded(estimate, exponent) for estimate in row] for row in rows]
    estimates, down, up, likeliest = (
        [[None if steps is None else steps[column] for steps in row] for row in coded] for column in range(4)
    )
    return Tracks(
        step=float(f"1e{exponent}"),
        suffix=unit.suffix,
        texts=[[_text(estimate, unit) for estimate in row] for row in rows],
        estimates=estimates,
        down=down,
        up=up,
        likeliest=likeliest if any(each is not None for row in likeliest for each in row) else None,
    )


def _text(known: KnownEstimate, unit: Unit) -> str | None:
    if known is None or known.estimate is None:
        return None
    rounded, likeliest = unit.rounded(known), known.maximum_likelihood
    also = "" if likeliest is None else rounded.beside(likeliest)
    return f"{rounded.estimate} {rounded.low} {rounded.high} {also}".rstrip()


def _coded(known: KnownEstimate, exponent: int) -> tuple[int, int, int, int | None] | None:
    if known is None or known.estimate is None:
        return None
    estimate, low, high = steps_of(known.estimate, known.low, known.high, exponent)
    step = float(f"1e{exponent}")
    likeliest = None if known.maximum_likelihood is None else round(known.maximum_likelihood / step) - estimate
    return estimate, estimate - low, high - estimate, likeliest
