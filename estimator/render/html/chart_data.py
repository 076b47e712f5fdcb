"""The figures of a question as the page shows them, and the data of its charts.

The data is so compact that ninety windows of fifty questions stay small. Drawn numbers are whole
multiples of a step, which is a hundredth of the narrowest interval; like texts, intervals are
rounded outwards and an estimate lies in its interval. The page's script never rounds them: what was
rounded to a step must not be rounded again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from client_sdk.protocol.window import Window
from estimator.render.html.tables import axes_of
from estimator.render.rounding import PERCENT, Unit, steps_of, unit_of
from estimator.report.highlights import by_value
from estimator.results.estimate import Estimate, Figure, Figures
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.results.statistic import Chart
from estimator.words import short

# The names of steps that say a range, such as "10 to 30 %" of a model's probability.
NUMBER: Final = r"(\d{1,3}(?:\.\d+)?)"

BELOW: Final = re.compile(rf"(?:below|under|less than|<) ?{NUMBER} ?%")

BETWEEN: Final = re.compile(rf"{NUMBER} ?%? ?(?:to|[-\u2013]) ?{NUMBER} ?%")

FROM: Final = re.compile(rf"{NUMBER} ?% (?:or|and) (?:more|above)|(?:at least|from|≥) ?{NUMBER} ?%")

FINEST = 1e-12
"""An interval that is shorter has no length; it needs no step of its own."""

KEPT_DIGITS = 11
"""Fewer than the script keeps of a number of steps, so that it rounds none (``numbers.js``)."""

KnownEstimate = Estimate | None

WithReports = Sequence[MetricEstimate | None]
"""An entry for each window of the calendar. None where nobody reported."""


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """The shown figures of one statistic in one window.

    Attributes:
        group: all figures of the statistic.
        title: what they are.
        unit: the unit in which they are shown.
        labels: of the shown figures. They are the same in every window of a question.
        figures: the shown figures.

    """

    group: FigureGroup
    title: str
    unit: Unit
    labels: tuple[str, ...]
    figures: Figures

    @property
    def rows(self) -> list[tuple[str, Figure]]:
        """The label of each shown figure, and the figure."""
        return list(zip(self.labels, self.figures, strict=True))

    @property
    def is_titled(self) -> bool:
        """Whether the title says more than the label of its only figure."""
        return [label.casefold() for label in self.labels] != [self.title.casefold()]


def groups_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[ShownGroup]:
    """Yield the groups of one window.

    They are the same in every window of a question that has reports. A model has none in a window
    of which too little was learned.

    Args:
        estimated: the figures of the window.
        positions: which values are shown.

    """
    for group in estimated.groups:
        if group.about.on_page:
            figures = shown_at(group, positions)
            labels = tuple(group.about.label(value) for value in figures.labels)
            title = group.about.title.format(*map(short, estimated.names or ()))
            yield ShownGroup(group, title, unit_of(group), labels, figures)


def shown_at(group: FigureGroup, positions: Sequence[int]) -> Figures:
    """Return the figures that are shown: of values those at some positions, of others all."""
    return group.figures.at(positions) if group.about.by_value else group.figures


def data_of(
    windows: Sequence[MetricEstimate],
    positions: Sequence[int],
    calendar: Sequence[Window],
    shown: MetricEstimate,
    pooled: Pooled | None,
) -> dict[str, Any]:
    """Return everything that the page's script draws of a question.

    Arrays have an entry for each window of the calendar. Where windows are pooled, a last entry
    holds them all.

    Args:
        windows: the estimates, of which at least one has reports.
        positions: which values are shown.
        calendar: all windows of the kind.
        shown: the window that is shown first.
        pooled: all windows together, or None.

    """
    by_window = {estimated.window: estimated for estimated in windows}
    track = [by_window.get(window.text) for window in calendar]
    with_reports = [estimated if estimated is not None and estimated.reports else None for estimated in track]
    data: dict[str, Any] = {
        "kind": str(shown.span.kind),
        "at": calendar.index(shown.span),
        "lead": _lead(shown, positions),
        "n": [None if estimated is None else estimated.reports for estimated in track],
        "open": [slot for slot, estimated in enumerate(track) if estimated is not None and not estimated.closed],
        "groups": list(_groups(with_reports, shown, positions, pooled)),
    }
    if shown.group("share_at_least") is not None:
        data["days"] = True  # the first group has a share for each number of days
    if pooled is not None:
        data["pooled"] = pooled.reports
    return data | _distribution(with_reports) | _joint(with_reports, shown.names)


def _lead(shown: MetricEstimate, positions: Sequence[int]) -> int:
    """Return the row of the answer's figure among the shown values; 0 if it is not shown."""
    group = by_value(shown)
    return list(positions).index(group.lead) if group is not None and group.lead in positions else 0


def _groups(
    with_reports: WithReports, shown: MetricEstimate, positions: Sequence[int], pooled: Pooled | None
) -> Iterator[dict[str, Any]]:
    """Yield the tracks of each group that the window shown first has, a row for each figure."""
    for group in groups_of(shown, positions):
        by_window = [_figures(estimated, group.group, positions) for estimated in with_reports]
        rows = _rows([None if figures is None else list(figures) for figures in by_window])
        if pooled is not None:
            together = _figures(pooled, group.group, positions) or [None] * len(rows)
            rows = [[*row, figure] for row, figure in zip(rows, together, strict=True)]
        about = {"title": group.title, "percent": group.unit is PERCENT, "labels": list(group.labels)}
        chart = group.group.about.chart
        drawn = {} if chart is None else {"drawn": chart.value}
        yield about | drawn | tracks(rows, group.unit)


def _figures(estimated: MetricEstimate | Pooled | None, like: FigureGroup, positions: Sequence[int]) -> Figures | None:
    """Return the shown figures of a statistic. None where there are none."""
    group = None if estimated is None else estimated.group(like.statistic)
    return None if group is None else shown_at(group, positions)


def _drawn(with_reports: WithReports, chart: Chart) -> tuple[FigureGroup, list[list[KnownEstimate]]] | None:
    """Return the figures that a chart draws, and a row for each with an entry for each window."""
    groups = [None if each is None else _charted(each, chart) for each in with_reports]
    first = next((group for group in groups if group is not None), None)
    if first is None:
        return None
    columns = (None if group is None else group.figures for group in groups)
    return first, _rows([None if each is None else list(_drawable(each)) for each in columns])


def _drawable(figures: Figures) -> Figures:
    """Return figures without maximum-likelihood values, which these charts do not draw."""
    return Figures(figures.labels, figures.lows, figures.highs, figures.unbiased, figures.standard_errors)


def _charted(estimated: MetricEstimate, chart: Chart) -> FigureGroup | None:
    return next((group for group in estimated.groups if group.about.chart is chart), None)


def _distribution(with_reports: WithReports) -> dict[str, Any]:
    """Return the histogram and the distribution function of each window.

    Nothing for a question without them.
    """
    bins, band = _drawn(with_reports, Chart.HISTOGRAM), _drawn(with_reports, Chart.BAND)
    if bins is None or band is None:
        return {}
    histogram = tracks(bins[1], PERCENT)
    if not any(share.low for row in bins[1] for share in row if share is not None):
        del histogram["d"]  # every lower limit is 0
    return {
        "bins": {"edges": bins[0].figures.labels, **histogram},
        "band": {"at": band[0].figures.labels, **tracks(band[1], PERCENT)},
    }


def _rows(by_window: Sequence[Sequence[Figure] | None]) -> list[list[KnownEstimate]]:
    """Return a row for each figure, with an estimate for each window."""
    figures = len(next((each for each in by_window if each is not None), ()))
    return [[None if each is None else each[place] for each in by_window] for place in range(figures)]


def _joint(with_reports: WithReports, names: tuple[str, str] | None) -> dict[str, Any]:
    """Return the shares within groups of each window, or nothing for a question without groups."""
    drawn = _drawn(with_reports, Chart.CELLS)
    if drawn is None:
        return {}
    cells, rows = drawn
    groups, outcomes = axes_of(cells)
    has_steps = any(_charted(each, Chart.CURVE_OF_STEPS) for each in with_reports if each is not None)
    steps = {"steps": ranges_of(groups)} if has_steps else {}
    return {"joint": {"names": names, "groups": groups, "outcomes": outcomes, **steps, **tracks(rows, PERCENT)}}


def ranges_of(steps: Sequence[str]) -> list[tuple[float, float]]:
    """Return the ends of each step, from 0 to 1. Nothing if any step names no range of per cents.

    Args:
        steps: as people read them.

    """
    ranges = [_range(step) for step in steps]
    known = [each for each in ranges if each is not None and 0 <= each[0] < each[1] <= 1]
    return known if len(known) == len(ranges) else []


def _range(step: str) -> tuple[float, float] | None:
    """Return the ends of one step; None if it names none."""
    plain = step.replace("\N{NO-BREAK SPACE}", " ").strip()
    if match := BELOW.fullmatch(plain):
        return 0.0, float(match[1]) / 100
    if match := BETWEEN.fullmatch(plain):
        return float(match[1]) / 100, float(match[2]) / 100
    if match := FROM.fullmatch(plain):
        return float(match[1] or match[2]) / 100, 1.0
    return None


def exponent_of(estimates: Iterable[KnownEstimate]) -> int:
    """Return the power of ten that is at most a hundredth of the narrowest interval.

    It is larger where a number would have more digits than the script keeps.
    """
    known = [estimate for estimate in estimates if estimate is not None and estimate.estimate is not None]
    lengths = (estimate.high - estimate.low for estimate in known)
    narrowest = min((length for length in lengths if length > FINEST), default=1.0)
    largest = max((max(-estimate.low, estimate.high) for estimate in known), default=1.0)
    return max(math.floor(math.log10(narrowest)) - 2, math.floor(math.log10(max(largest, FINEST))) - KEPT_DIGITS + 1)


def tracks(rows: Sequence[Sequence[KnownEstimate]], unit: Unit) -> dict[str, Any]:
    """Return rows of estimates in the form that the page's script reads.

    Where every interval begins at 0, ``d`` may be left out.

    ``e`` is the estimate, ``d`` how far the interval reaches below it, ``u`` how far above, and
    ``m`` the likeliest value less the estimate. All are in steps, and null where there is no
    estimate. ``t`` is the text: estimate, lower and upper end, and the likeliest value if there is
    one, each without the unit, which is ``suffix``.

    Args:
        rows: a row for each figure, with an estimate for each window.
        unit: in which the texts are.

    """
    exponent = exponent_of(estimate for row in rows for estimate in row)
    coded = [[_coded(estimate, exponent) for estimate in row] for row in rows]
    columns = {
        name: [[None if steps is None else steps[column] for steps in row] for row in coded]
        for column, name in enumerate("edum")
    }
    if not any(likeliest is not None for row in columns["m"] for likeliest in row):
        del columns["m"]
    texts = [[_text(estimate, unit) for estimate in row] for row in rows]
    return {"step": float(f"1e{exponent}"), "suffix": unit.suffix, "t": texts, **columns}


def _text(known: KnownEstimate, unit: Unit) -> str | None:
    if known is None or known.estimate is None:
        return None
    rounded = unit.rounded(known)
    return " ".join((rounded.estimate, rounded.low, rounded.high, unit.likeliest(known))).rstrip()


def _coded(known: KnownEstimate, exponent: int) -> tuple[int, int, int, int | None] | None:
    if known is None or known.estimate is None:
        return None
    estimate, low, high = steps_of(known.estimate, known.low, known.high, exponent)
    step = float(f"1e{exponent}")
    likeliest = None if known.maximum_likelihood is None else round(known.maximum_likelihood / step) - estimate
    return estimate, estimate - low, high - estimate, likeliest
