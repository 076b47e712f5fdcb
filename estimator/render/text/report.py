"""The report as text: a block for each metric, a line for each value and window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from estimator.render.sentences import participation_of
from estimator.render.text.lines import (
    CENTRAL_FOOTNOTE,
    among_all_lines,
    central_line,
    cluster_lines,
    composed_lines,
    fakes_lines,
    lines_of,
    part_lines,
    window_of,
)
from estimator.render.text.style import LEAST_WIDTH, PLAIN, Style, wrapped
from estimator.render.words import (
    AMONG_ALL_NOTE,
    mechanism_words,
    p_equals,
    tested_words,
    untested_words,
)
from estimator.report.changes import untested_figures
from estimator.report.group_differences import differences_of
from estimator.report.highlights import by_value
from estimator.report.strata import clearest_effects
from estimator.results.changes import Changes, Effect
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.results.report import SHOWN_VALUES, EstimateReport, Highlight
from estimator.words import in_unit, plural

FOOTNOTES = """\
estimate ± error: unbiased, with its standard error. An estimate outside its
interval is shown as the nearer end; --format json and csv have it as it is.
Shares within a group, and their differences, are ratios of these: they are
biased a little where there are few reports. Intervals are rounded outwards.
Standard errors and intervals take the devices for a random sample of a
population; they hold the chance of who reported and the mechanism's noise.
"""

DIFFERENCES_FOOTNOTE = """\
Groups differ: so much is hardly chance; p, corrected for all differences of
groups in this report, is at most 0.05. May differ: p alone is, or the interval
by itself does not hold 0, as it happens by chance to some of many differences.
"""

BAR_FOOTNOTE = """\
Bars show estimates: a full one is all devices that take part, or the upper end
of the range.
"""

LIKELIEST_FOOTNOTE = """\
likeliest: maximum likelihood among what is possible; biased near the limits.
"""

NOTHING = (
    "There is nothing to report: no window that was asked for has a tally. --preliminary shows open windows, too;\n"
    "a file then needs the body of /v1/tallies?preliminary=1.\n"
)

NOTHING_SKIPPED = "There is nothing to report: every tally was skipped, for the reasons given beside this.\n"

POINT_FOOTNOTE = """\
An interval of one point: the tally lies beyond what the mechanism produces on
average at any truth; the end that is shown is the nearest, not a certainty.
"""

DISTRIBUTION_FOOTNOTE = """\
Variance, quantiles, ranges: estimates come from a smoothed histogram, and are a
little biased where it bends. Their intervals hold for every population, and an
estimate outside its interval is moved to the nearer end. --format json has the
histogram and the distribution function.
"""

CLUSTERS_FOOTNOTE = """\
Clusters: how many there are, and how stable, is found by resampling tallies.
Shares are of the answers that are named; each interval holds by itself.
"""

TOGETHER_FOOTNOTE = """\
All intervals of a question in a window hold together with the confidence above
them.
"""

MADE_UP_FOOTNOTE = """\
made-up reports: down and up say how far at most they could have moved each
estimate. The test asks whether any population could have produced the tally.
To pass proves nothing: liars who follow the protocol look like a population.
"""

POOLED_FOOTNOTE = """\
Windows together: the same people may have answered in each, so that only the
mechanism's fresh noise averages out over them. The interval of a change also
holds if the same people answered in both windows, even if they gave the
opposite answer. p: of the clearest change between the first and the last closed
window, corrected for everything that is compared.
"""

PRELIMINARY_FOOTNOTE = "*: preliminary; the window is still open and its figures will change.\n"


def as_table(report: EstimateReport, style: Style = PLAIN) -> str:
    """Return the report as text."""
    if not report.metrics:
        return NOTHING_SKIPPED if report.skipped else NOTHING
    highlights = {highlight.shown.metric: highlight for highlight in report.highlights}
    blocks = [
        _block(highlights[metric], list(windows), report.confidence, style)
        for metric, windows in groupby(report.metrics, key=lambda estimated: estimated.metric)
    ]
    preliminary = any(not estimated.closed for estimated in report.metrics)
    point = any(has_a_point(estimated) for estimated in report.metrics)
    notes = {
        FOOTNOTES: True,
        LIKELIEST_FOOTNOTE: style.has_likeliest,
        DIFFERENCES_FOOTNOTE: any(differences_of(estimated) is not None for estimated in report.metrics),
        BAR_FOOTNOTE: any(estimated.reports for estimated in report.metrics),
        TOGETHER_FOOTNOTE: report.simultaneous,
        POINT_FOOTNOTE: point,
        DISTRIBUTION_FOOTNOTE: any(estimated.group("quantile") is not None for estimated in report.metrics),
        CLUSTERS_FOOTNOTE: any(estimated.clusters is not None for estimated in report.metrics),
        CENTRAL_FOOTNOTE: bool(report.composed),
        MADE_UP_FOOTNOTE: any(estimated.fakes is not None for estimated in report.metrics),
        POOLED_FOOTNOTE: bool(report.pooled),
        _note(AMONG_ALL_NOTE): any(estimated.among_all is not None for estimated in report.metrics),
        _note(participation_of([highlight.shown for highlight in report.highlights])): True,
        PRELIMINARY_FOOTNOTE: preliminary,
        _snapshot_note(report): preliminary and report.snapshot_at is not None,
    }
    changes = {of_metric.metric: of_metric for of_metric in report.changes}
    together = [
        _pooled_block(pooled, highlights[pooled.metric], changes.get(pooled.metric), style) for pooled in report.pooled
    ]
    together += [_effect_block(effect, style) for effect in clearest_effects(report.effects)]
    together += [composed_lines(report.composed)] if report.composed else []
    return style.shown("\n".join([*blocks, *together, "".join(note for note, applies in notes.items() if applies)]))


def _note(sentences: str) -> str:
    return "".join(f"{line}\n" for line in wrapped(sentences, LEAST_WIDTH))


def _snapshot_note(report: EstimateReport) -> str:
    at = report.snapshot_at
    return "" if at is None else f"Open windows are shown as they were at {at:%Y-%m-%d %H:%M:%S} UTC.\n"


def has_a_point(estimated: MetricEstimate) -> bool:
    """Return whether an interval that a table shows is a single point."""
    shown = (group for group in estimated.groups if group.about.headline or group.about.most_lines)
    return any(group.figures.has_a_point for group in shown if group.figures.unbiased.size)


def _block(highlight: Highlight, windows: Sequence[MetricEstimate], confidence: float, style: Style) -> str:
    question = highlight.shown
    lines = [
        style.strong(in_unit(f"{question.metric}: {question.kind}", question.unit)),
        f"  {mechanism_words(question)}",
        *(f"  reports in {window_of(estimated)}: {estimated.reports:,}" for estimated in windows),
        style.heading(confidence),
        *_rows(windows, highlight, style),
        *(line for estimated in windows for line in part_lines(estimated, style)),
        *filter(None, map(central_line, windows)),
        *(
            line
            for estimated in windows
            for line in (
                *among_all_lines(estimated, highlight.positions, style),
                *cluster_lines(estimated, style),
                *fakes_lines(estimated, highlight.positions, style),
            )
        ),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _pooled_block(pooled: Pooled, highlight: Highlight, changes: Changes | None, style: Style) -> str:
    first, *_, last = pooled.windows
    windows, reports = plural(len(pooled.windows), "window"), plural(pooled.reports, "report")
    title = f"{pooled.metric}: {windows} together, {first} to {last}, {reports}"
    lines = [style.strong(title), *_group_rows(pooled.groups, highlight.positions, style, have_bars=True)]
    if pooled.changes:
        lines += [f"  {last} less {first}", *_group_rows(pooled.changes, highlight.positions, style)]
    if changes is not None and changes.p_value_corrected is not None:
        between = f"from {changes.first} to {changes.last}"
        null = f"if {tested_words(changes)} had not changed {between}"
        lines += wrapped(f"{null}: p {p_equals(changes.p_value_corrected)}, corrected", style.width, "  ", "  ")
    untested = untested_words(untested_figures(highlight.shown))
    if untested:
        lines += wrapped(f"not tested: whether {untested} changed", style.width, "  ", "  ")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _effect_block(effect: Effect, style: Style) -> str:
    lines = [style.strong(f"{effect.metric} in {effect.window}: {effect.second} less {effect.first}")]
    lines += _group_rows(effect.groups, range(SHOWN_VALUES), style)
    if effect.p_value_corrected is not None:
        lines.append(f"  if these did not differ: p {p_equals(effect.p_value_corrected)}, corrected")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _group_rows(
    groups: Iterable[FigureGroup], positions: Sequence[int], style: Style, *, have_bars: bool = False
) -> Iterator[str]:
    for group in groups:
        for line in lines_of(group, [at for at in positions if at < len(group.figures)], have_bars=have_bars):
            yield style.row("", line)


def _rows(windows: Sequence[MetricEstimate], highlight: Highlight, style: Style) -> Iterator[str]:
    """Yield the windows of each value one below the other, so that a change is easy to see.

    A window of too few reports lacks the last line of a model, its AUC.
    """
    in_table = ([group for group in estimated.groups if group.about.in_table] for estimated in windows)
    tracks = zip_longest(
        *([line for group in groups for line in lines_of(group, highlight.positions)] for groups in in_table)
    )
    for lines in tracks:
        known = [(window, line) for window, line in zip(windows, lines, strict=True) if line is not None]
        for index, (estimated, line) in enumerate(known):
            yield style.row(window_of(estimated), line if index == 0 else line._replace(label=""))
    group = by_value(highlight.shown)
    if highlight.left_out and group is not None:
        yield f"  … and {group.more(highlight.left_out)}; --format json and csv have all"
