"""The whole page: an overview, every metric, and the reasons for skipped tallies.

The page is a single, self-contained HTML file. The file's content security policy lists the hashes
of the file's scripts and styles, and blocks all others.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Final, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window, WindowKind
from estimator.errors import OutputError
from estimator.formats.json_documents import as_compact_json
from estimator.render.html.chart_data import MetricData
from estimator.render.html.metric_view import MOST_PLACES, MetricView, unasked, view_of
from estimator.render.html.wording import FILTERS
from estimator.render.words import devices_of, participation_of
from estimator.report.strata import apart, clearest_effects
from estimator.results.estimate import Record
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport, Skipped
from estimator.statistics.confidence import EXACT_BELOW
from estimator.tallies import FEWER

FEW_METRICS: Final = 5
"""A page with more metrics than this number has a search field and a menu to sort the metrics."""

PACKAGE: Final = "estimator.render.html"

STYLE: Final = "report.css"

SCRIPTS: Final = ("d3.min.js", "plot.umd.min.js", "numbers.js", "charts.js", "tables.js", "report.js")
"""The scripts of a page, in the order in which they run: d3, Observable Plot, then the scripts of
this project.
"""

OURS: Final = (STYLE, "numbers.js", "charts.js", "tables.js", "report.js")
"""This project's own files, which a page contains without indentation and comment lines."""

LICENSES: Final = ("d3.LICENSE", "plot.LICENSE")
"""The licenses of d3 and Observable Plot, which every copy of these libraries must include."""

STYLE_OF_CHARTS: Final = """:where(.chart) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.chart text),
:where(.chart tspan) {
  white-space: pre;
}"""
"""The styles that Observable Plot adds to a chart whose class name is ``chart``."""


class SkippedTallies(NamedTuple):
    """The tallies of one edition that were skipped for the same reason."""

    metric: str
    edition: str
    reason: str
    windows: tuple[str, ...]


class PageData(Record, frozen=True):
    """The data of all charts of a page.

    Attributes:
        few: a number of reports. The line of a chart passes only through windows with at least this
            many reports.
        calendars: for each kind of window, the name and the first day of every window.
        events: for each kind of window, the days and titles of the registry's events.

    """

    confidence: int
    few: int
    calendars: dict[str, list[tuple[str, date]]]
    events: dict[str, list[tuple[date, str]]]
    metrics: dict[str, MetricData]


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of the page, for the template.

    Attributes:
        metrics: the view of each metric, in the registry's order.
        calendars: for each kind of window that occurs, all windows from the first to the last.

    """

    registry: Registry
    report: EstimateReport
    metrics: tuple[MetricView, ...]
    calendars: Mapping[WindowKind, tuple[Window, ...]]

    @property
    def span(self) -> str:
        """The names of the first and the last window, as text. Empty if there are no windows."""
        return _span(self.report.metrics)

    @property
    def confidence(self) -> int:
        """The confidence of the intervals in percent."""
        return round(100 * self.report.confidence)

    @property
    def participation(self) -> str:
        """Sentences on the devices that the figures describe, and on their approximate number."""
        return participation_of([highlight.shown for highlight in self.report.highlights])

    @property
    def devices(self) -> str | None:
        """The approximate number of participating devices, as text. None if unknown."""
        return devices_of([highlight.shown for highlight in self.report.highlights])

    @property
    def nothing(self) -> str | None:
        """A sentence on why the page has no results. None if the page has results."""
        if any(estimated.reports for estimated in self.report.metrics):
            return None
        if self.report.metrics:
            return "No window has any reports."
        if self.report.skipped:
            return "There is nothing to report: every tally was left out for the reasons below."
        return "There is nothing to report: no closed window has a tally. To include open windows, add --preliminary."

    @property
    def snapshot(self) -> str | None:
        """The UTC time at which open windows were read.

        None if no open window is shown or if the time is unknown.
        """
        is_preliminary = any(not estimated.closed for estimated in self.report.metrics)
        at = self.report.snapshot_at
        return f"{at:%Y-%m-%d %H:%M}" if at is not None and is_preliminary else None

    @property
    def skipped(self) -> list[SkippedTallies]:
        """The skipped tallies, grouped by edition and reason."""
        return _grouped(self.report.skipped)

    @property
    def is_long(self) -> bool:
        """Whether the page has too many metrics to see at a glance."""
        return len(self.metrics) > FEW_METRICS

    @property
    def has_changes(self) -> bool:
        """Whether any metric has windows to compare."""
        return any(view.spark or view.verdict.brief for view in self.metrics)

    @property
    def has_likeliest(self) -> bool:
        """Whether any metric shows maximum-likelihood values."""
        return any(view.has_likeliest for view in self.metrics)

    @property
    def has_groups(self) -> bool:
        """Whether any metric compares groups."""
        return any(view.joint for view in self.metrics)

    @property
    def has_distributions(self) -> bool:
        """Whether any metric has a distribution function."""
        return any(view.data is not None and view.data.band is not None for view in self.metrics)

    @property
    def data(self) -> PageData:
        """The data of the charts."""
        return PageData(
            confidence=self.confidence,
            few=EXACT_BELOW,
            calendars={
                str(kind): [(window.text, window.first_day) for window in windows]
                for kind, windows in self.calendars.items()
            },
            events={
                str(kind): [event for event in self.registry.events if _is_within(windows, event.day)]
                for kind, windows in self.calendars.items()
            },
            metrics={view.metric.name: view.data for view in self.metrics if view.data is not None},
        )


def page_of(report: EstimateReport, registry: Registry) -> Page:
    """Return the page of a report.

    The report must contain highlights. ``registry`` contains all metrics, even metrics without a
    tally. Raise `OutputError` if gaps between windows would make the page too large.
    """
    _check_size(report.metrics)
    registry = apart(registry)
    by_metric = {name: list(windows) for name, windows in groupby(report.metrics, key=lambda window: window.metric)}
    highlights = {highlight.shown.metric: highlight for highlight in report.highlights}
    clearest = clearest_effects(report.effects)
    effects = {name: list(pairs) for name, pairs in groupby(clearest, key=lambda effect: effect.metric)}
    calendars = _calendars(report.metrics)
    titles = {name: metric.title for name, metric in registry.metrics.items()}
    metrics = tuple(
        view_of(metric, by_metric[name], calendars[metric.window], highlights[name], effects.get(name, ()), titles)
        if name in by_metric
        else unasked(metric)
        for name, metric in registry.metrics.items()
    )
    return Page(registry, report, metrics, calendars)


def _check_size(estimates: Sequence[MetricEstimate]) -> None:
    """Raise `OutputError` if gaps between windows would make a page too large.

    The page contains data about each metric in every window from the first to the last, even in
    windows without a tally of the metric.
    """
    places = 0
    for kind in WindowKind:
        of_kind = [estimated for estimated in estimates if estimated.span.kind is kind]
        if of_kind:
            starts = [estimated.span.starts_at for estimated in of_kind]
            shortest_s = min(estimated.span.ends_at - estimated.span.starts_at for estimated in of_kind)
            windows = (max(starts) - min(starts)) // shortest_s + 1
            places += windows * len({estimated.metric for estimated in of_kind})
    if places > MOST_PLACES:
        raise OutputError(
            f"a page of {_span(estimates)} would need room for {places:,} windows, and the maximum is "
            f"{MOST_PLACES:,}; {FEWER}"
        )


def _calendars(estimates: Sequence[MetricEstimate]) -> dict[WindowKind, tuple[Window, ...]]:
    """Return all windows of each kind from the first to the last.

    Charts show windows without reports as gaps.
    """
    calendars = {}
    for kind in WindowKind:
        starts = [estimated.span.starts_at for estimated in estimates if estimated.span.kind is kind]
        if starts:
            calendars[kind] = _windows(kind, min(starts), max(starts))
    return calendars


def _windows(kind: WindowKind, first_s: int, last_s: int) -> tuple[Window, ...]:
    window = Window.at(kind, first_s)
    windows = [window]
    while window.starts_at < last_s:
        window = Window.at(kind, window.ends_at)
        windows.append(window)
    return tuple(windows)


def _is_within(windows: Sequence[Window], day: date) -> bool:
    return windows[0].first_day <= day <= windows[-1].last_day


def _span(estimates: Sequence[MetricEstimate]) -> str:
    if not estimates:
        return ""
    first = min(estimates, key=lambda estimated: estimated.span.starts_at).window
    last = max(estimates, key=lambda estimated: estimated.span.ends_at).window
    return first if first == last else f"{first} to {last}"


def _grouped(skipped: Iterable[Skipped]) -> list[SkippedTallies]:
    windows: dict[tuple[str, str, str], list[str]] = {}
    for tally in skipped:
        windows.setdefault((tally.metric, tally.edition, tally.reason), []).append(tally.window)
    return [SkippedTallies(*names, windows=tuple(texts)) for names, texts in windows.items()]


@cache
def asset(name: str) -> str:
    """Return the text of a file that a page includes.

    Raise `AssertionError` if the text would end the HTML element that contains it.
    """
    text = _text("assets", name)
    if name in OURS:
        text = "\n".join(line for line in map(str.strip, text.splitlines()) if not line.startswith("//"))
    if "</script" in text.lower() or "</style" in text.lower():
        raise AssertionError(f"{name} would end the element around it")
    return text


def _text(folder: str, name: str) -> str:
    return files(PACKAGE).joinpath(folder, name).read_text(encoding="utf-8")


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a content security policy that allows only these scripts and styles."""
    script_sources = _hashes(scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {script_sources}; style-src {_hashes(styles)};"
        " base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def as_html(report: EstimateReport, registry: Registry) -> str:
    """Return the report as one HTML file."""
    return filled("page.html.jinja", page_of(report, registry))


def filled(template: str, page: Page, **more: object) -> str:
    """Fill a template with a page and ``more`` values, and return the HTML file."""
    scripts = [asset(name) for name in SCRIPTS]
    style = asset(STYLE)
    return (
        environment()
        .get_template(template)
        .render(
            page=page,
            policy=policy(scripts, [style, STYLE_OF_CHARTS]),
            scripts=[Markup(script) for script in scripts],  # noqa: S704 files of this package
            licenses=[asset(name) for name in LICENSES],
            style=Markup(style),  # noqa: S704 a file of this package
            data=_embedded(page.data),
            **more,
        )
    )


def _embedded(data: PageData) -> Markup:
    """Return the data as JSON. ``<`` is escaped, because it could end the surrounding element."""
    return Markup(as_compact_json(data).replace("<", "\\u003c"))  # noqa: S704 escaped here


def _template(name: str) -> str:
    """Return the text of a template. Indentation is removed, because it would enlarge pages."""
    return "\n".join(map(str.lstrip, _text("templates", name).splitlines()))


@cache
def environment() -> Environment:
    """Return the environment that fills the templates of pages."""
    templates = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    templates.filters |= FILTERS
    return templates
