"""The report for people: a block a metric, the windows of one value beneath each other, a bar beside each share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from client_sdk.protocol import Metric
from estimator.render.text import central, poisoning
from estimator.render.text.lines import (
    NUMBER_DIGITS,
    SHARE_DIGITS,
    SHARES,
    SHOWN_VALUES,
    answered_lines,
    cluster_lines,
    fakes_lines,
    joint_lines,
    lines_of,
    shown_values,
    window_of,
)
from estimator.render.text.style import PLAIN, Style
from estimator.render.words import mechanism_words, p_equals
from estimator.results.changes import Changes, Pooled
from estimator.results.metric import MetricEstimate
from estimator.results.report import Report
from estimator.text import mean_word, parts, plural

FOOTNOTES = """\
estimate ± error: unbiased, with its standard error; never clipped, so that it
may lie outside what is possible. Shares within a group, and their differences,
are ratios of such: unbiased but for a little where reports are few.
Standard errors and intervals take the devices for a random sample of a
population; they hold the chance of who reported and the mechanism's noise.
"""

DIFFERENCES_FOOTNOTE = """\
Groups differ: so much is hardly chance; p, corrected for all differences of
groups in this report, is at most 0.05. May differ: p alone is, or the interval
by itself does not hold 0, as it happens by chance to some of many differences.
"""

BAR_FOOTNOTE = """\
Bars show estimates: a full one is everybody, or the upper end of the range.
"""

LIKELIEST_FOOTNOTE = """\
likeliest: maximum likelihood among what is possible; biased near the limits.
"""

NOTHING = "There is nothing to report: no closed window has a tally; --preliminary shows open ones.\n"

NOTHING_SKIPPED = "There is nothing to report: every tally was skipped, for the reasons given beside this.\n"

POINT_FOOTNOTE = """\
An interval of one point: the tally lies beyond what the mechanism produces on
average at any truth; the end that is shown is the nearest, not a certainty.
"""

SMOOTHED_FOOTNOTE = """\
~: from the histogram (--format json has it), smoothed, a little biased where it
bends; the interval is by resampling, and its coverage is measured, not proved.
"""

TOGETHER_FOOTNOTE = """\
All intervals of a question in a window hold together with the confidence above
them; but those marked ~ are only widened for it, and promise less.
"""

POOLED_FOOTNOTE = """\
Windows together: the same people may have answered in each, so that only the
mechanism's fresh noise averages out over them. A change takes the two windows
for independent, which is careful. p: of the clearest change between the first
and the last closed window, corrected for everything that is compared.
"""

PRELIMINARY_FOOTNOTE = "*: preliminary; the window is still open and its figures will change.\n"


def as_table(report: Report, style: Style = PLAIN) -> str:
    """Return the report as text."""
    if not report.metrics:
        return NOTHING_SKIPPED if report.skipped else NOTHING
    blocks = [
        _block(metric, list(windows), report.confidence, style)
        for metric, windows in groupby(report.metrics, key=lambda estimated: estimated.metric)
    ]
    preliminary = any(not estimated.closed for estimated in report.metrics)
    point = any(_has_a_point(estimated) for estimated in report.metrics)
    smoothed = any(one.distribution is not None or one.clusters is not None for one in report.metrics)
    notes = {
        FOOTNOTES: True,
        LIKELIEST_FOOTNOTE: style.has_likeliest,
        DIFFERENCES_FOOTNOTE: any(estimated.joint is not None for estimated in report.metrics),
        BAR_FOOTNOTE: any(estimated.reports for estimated in report.metrics),
        TOGETHER_FOOTNOTE: report.simultaneous,
        POINT_FOOTNOTE: point,
        SMOOTHED_FOOTNOTE: smoothed,
        central.FOOTNOTE: bool(report.composed),
        poisoning.FOOTNOTE: any(estimated.fakes is not None for estimated in report.metrics),
        POOLED_FOOTNOTE: bool(report.pooled),
        PRELIMINARY_FOOTNOTE: preliminary,
        _snapshot_note(report): preliminary and report.snapshot_at is not None,
    }
    changes = {one.metric.name: one for one in report.changes}
    together = [_pooled_block(one, changes.get(one.metric.name), style) for one in report.pooled]
    together += [central.composed_lines(report.composed)] if report.composed else []
    return style.shown("\n".join([*blocks, *together, "".join(note for note, applies in notes.items() if applies)]))


def _snapshot_note(report: Report) -> str:
    at = report.snapshot_at
    return "" if at is None else f"Open windows are shown as they were at {at:%Y-%m-%d %H:%M:%S} UTC.\n"


def _has_a_point(estimated: MetricEstimate) -> bool:
    mean = estimated.mean
    of_mean = mean is not None and mean.low == mean.high
    return of_mean or (estimated.shares is not None and estimated.shares.has_a_point)


def _block(metric: Metric, windows: Sequence[MetricEstimate], confidence: float, style: Style) -> str:
    lines = [
        style.strong(f"{metric.name}: {metric.kind}"),
        f"  {mechanism_words(metric)}",
        *(f"  reports in {window_of(estimated)}: {estimated.reports:,}" for estimated in windows),
        style.heading(confidence),
        *_rows(windows, style),
        *(
            line
            for estimated in windows
            for line in (*answered_lines(estimated, style), *joint_lines(estimated, style))
        ),
        *filter(None, map(central.line_of, windows)),
        *(line for estimated in windows for line in (*cluster_lines(estimated, style), *fakes_lines(estimated, style))),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _pooled_block(one: Pooled, changed: Changes | None, style: Style) -> str:
    first, last = one.windows[0], one.windows[-1]
    windows, reports = plural(len(one.windows), "window"), plural(one.reports, "report")
    title = f"{one.metric.name}: {windows} together, {first} to {last}, {reports}"
    lines = [style.strong(title)]
    lines += [style.row(parts(value), "", share, SHARE_DIGITS, SHARES) for value, share in one.shares[:SHOWN_VALUES]]
    if one.mean is not None:
        lines.append(style.row(mean_word(one.metric.kind), "", one.mean, NUMBER_DIGITS))
    lines.append(f"  {last} less {first}")
    digits = SHARE_DIGITS if one.mean is None else NUMBER_DIGITS
    lines += [style.row(parts(value), "", change, digits) for value, change in one.changes[:SHOWN_VALUES]]
    if changed is not None and changed.corrected is not None:
        between = f"from {changed.first} to {changed.last}"
        lines.append(f"  if nothing had changed {between}: p {p_equals(changed.corrected)}, corrected")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(windows: Sequence[MetricEstimate], style: Style) -> Iterator[str]:
    """Yield for each value its windows, one below the other, so that a change meets the eye."""
    positions, left_out = shown_values(windows[-1])
    for same in zip(*(lines_of(estimated, positions) for estimated in windows), strict=True):
        for index, (estimated, line) in enumerate(zip(windows, same, strict=True)):
            label = line.label if index == 0 else ""
            yield style.row(label, window_of(estimated), line.figure, line.digits, line.ends)
    if left_out:
        yield f"  … and {left_out:,} more values; --format json and csv have all"
