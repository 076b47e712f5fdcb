"""The report as text: a block for each metric, a line for each value and window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest

from estimator.render.sentences import participation_of
from estimator.render.text import central, poisoning
from estimator.render.text.lines import (
    SHARE_DECIMALS,
    SHARES,
    among_all_lines,
    answered_lines,
    cluster_lines,
    fakes_lines,
    joint_lines,
    lines_of,
    text_lines,
    window_of,
)
from estimator.render.text.style import LEAST_WIDTH, PLAIN, Style
from estimator.render.text.widths import wrapped
from estimator.render.words import (
    AMONG_ALL_NOTE,
    coordinate_words,
    left_out_words,
    mechanism_words,
    p_equals,
    tested_words,
    untested_words,
)
from estimator.report.changes import untested_figures
from estimator.report.strata import clearest_effects
from estimator.results.changes import Changes, Effect
from estimator.results.highlight import SHOWN_VALUES, Highlight
from estimator.results.metric import MetricEstimate
from estimator.results.pooled import Pooled
from estimator.results.report import EstimateReport
from estimator.words import in_unit, mean_word, parts, plural

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
        DIFFERENCES_FOOTNOTE: any(estimated.joint is not None for estimated in report.metrics),
        BAR_FOOTNOTE: any(estimated.reports for estimated in report.metrics),
        TOGETHER_FOOTNOTE: report.simultaneous,
        POINT_FOOTNOTE: point,
        DISTRIBUTION_FOOTNOTE: any(estimated.distribution is not None for estimated in report.metrics),
        CLUSTERS_FOOTNOTE: any(estimated.clusters is not None for estimated in report.metrics),
        central.FOOTNOTE: bool(report.composed),
        poisoning.FOOTNOTE: any(estimated.fakes is not None for estimated in report.metrics),
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
    together += [central.composed_lines(report.composed)] if report.composed else []
    return style.shown("\n".join([*blocks, *together, "".join(note for note, applies in notes.items() if applies)]))


def _note(sentences: str) -> str:
    return "".join(f"{line}\n" for line in wrapped(sentences, LEAST_WIDTH))


def _snapshot_note(report: EstimateReport) -> str:
    at = report.snapshot_at
    return "" if at is None else f"Open windows are shown as they were at {at:%Y-%m-%d %H:%M:%S} UTC.\n"


def has_a_point(estimated: MetricEstimate) -> bool:
    """Return whether an interval of a window is a single point."""
    texts = estimated.texts
    listed = (estimated.estimates, estimated.coordinates, *((texts.found, texts.named) if texts else ()))
    figures = (estimated.mean, *estimated.at_least)
    is_a_point = any(figure is not None and figure.is_a_point for figure in figures)
    return is_a_point or any(shares is not None and shares.has_a_point for shares in listed)


def _block(highlight: Highlight, windows: Sequence[MetricEstimate], confidence: float, style: Style) -> str:
    question = highlight.shown
    lines = [
        style.strong(in_unit(f"{question.metric}: {question.kind}", question.unit)),
        f"  {mechanism_words(question)}",
        *(f"  reports in {window_of(estimated)}: {estimated.reports:,}" for estimated in windows),
        style.heading(confidence),
        *_rows(windows, highlight, style),
        *(
            line
            for estimated in windows
            for line in (
                *answered_lines(estimated, style),
                *text_lines(estimated, style),
                *joint_lines(estimated, style),
            )
        ),
        *filter(None, map(central.line_of, windows)),
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
    lines = [style.strong(title)]
    lines += [
        style.row(parts(share.value), "", share, SHARE_DECIMALS, SHARES) for share in pooled.estimates[:SHOWN_VALUES]
    ]
    if pooled.mean is not None:
        lines.append(style.row(in_unit(mean_word(pooled.kind), pooled.unit), "", pooled.mean, None))
    if pooled.coordinates is not None and pooled.norm is not None:
        ends = (-pooled.norm, pooled.norm)
        for position in highlight.positions:
            lines.append(style.row(coordinate_words(position), "", pooled.coordinates[position], None, ends))
    if pooled.changes:
        lines.append(f"  {last} less {first}")
    decimals = SHARE_DECIMALS if pooled.mean is None else None
    lines += [style.row(parts(change.value), "", change, decimals) for change in pooled.changes[:SHOWN_VALUES]]
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
    decimals = SHARE_DECIMALS if effect.mean is None else None
    lines += [style.row(parts(change.value), "", change, decimals) for change in effect.estimates[:SHOWN_VALUES]]
    lines += [] if effect.mean is None else [style.row("mean", "", effect.mean, decimals)]
    if effect.p_value_corrected is not None:
        lines.append(f"  if these did not differ: p {p_equals(effect.p_value_corrected)}, corrected")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(windows: Sequence[MetricEstimate], highlight: Highlight, style: Style) -> Iterator[str]:
    """Yield the windows of each value one below the other, so that a change is easy to see.

    A window of too few reports lacks the last line of a model, its AUC.
    """
    for lines in zip_longest(*(lines_of(estimated, highlight.positions) for estimated in windows)):
        known = [(window, line) for window, line in zip(windows, lines, strict=True) if line is not None]
        for index, (estimated, line) in enumerate(known):
            label = line.label if index == 0 else ""
            yield style.row(label, window_of(estimated), line.figure, line.decimals, line.ends)
    if highlight.left_out:
        more = left_out_words(highlight.left_out, highlight.shown.kind)
        yield f"  … and {more}; --format json and csv have all"
