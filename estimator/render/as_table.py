"""The report for people: a block a metric, the windows of one value beneath each other, a bar beside each share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from client_sdk.spec import Cross, Metric
from estimator.changes import Changes
from estimator.distribution import Resampled
from estimator.figure import Estimate
from estimator.joint import Joint
from estimator.metric_estimate import MetricEstimate
from estimator.pooling import Pooled
from estimator.render import central, fakes
from estimator.render.style import PLAIN, Style
from estimator.render.words import cluster_words, mean_word, mechanism_words, word
from estimator.report import Report

FOOTNOTES = """\
estimate ± error: unbiased, with its standard error; never clipped, so that it
may lie outside what is possible. Shares within a group, and their differences,
are ratios of such: unbiased but for a little where reports are few.
Standard errors and intervals take the devices for a random sample of a
population; they hold the chance of who reported and the mechanism's noise.
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


SHOWN_VALUES = 50
"""Of a large category only so many, those with the largest shares in its last window; a table is for the eye."""

SHARE_DIGITS, NUMBER_DIGITS = ".4f", ".5g"

PRELIMINARY_FOOTNOTE = "*: preliminary; the window is still open and its figures will change.\n"


SHARES = (0.0, 1.0)
"""Between which ends a bar of a share lies."""


class Line(NamedTuple):
    """One thing that has a line: its name, its figures, their digits, and the ends of its bar, if it has one."""

    label: str
    figure: Estimate | Resampled
    digits: str
    ends: tuple[float, float] | None


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
        BAR_FOOTNOTE: any(estimated.reports for estimated in report.metrics),
        TOGETHER_FOOTNOTE: report.simultaneous,
        POINT_FOOTNOTE: point,
        SMOOTHED_FOOTNOTE: smoothed,
        central.FOOTNOTE: bool(report.composed),
        fakes.FOOTNOTE: any(estimated.fakes is not None for estimated in report.metrics),
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
        *(f"  reports in {_window(estimated)}: {estimated.reports:,}" for estimated in windows),
        style.heading(confidence),
        *_rows(windows, style),
        *(
            line
            for estimated in windows
            for line in (*_answered_lines(estimated, style), *_joint_lines(estimated, style))
        ),
        *filter(None, map(central.line_of, windows)),
        *(
            line
            for estimated in windows
            for line in (*_cluster_lines(estimated, style), *_fakes_lines(estimated, style))
        ),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _pooled_block(one: Pooled, changed: Changes | None, style: Style) -> str:
    first, last = one.windows[0], one.windows[-1]
    title = f"{one.metric.name}: {len(one.windows)} windows together, {first} to {last}, {one.reports:,} reports"
    lines = [style.strong(title)]
    lines += [style.row(word(value), "", share, SHARE_DIGITS, SHARES) for value, share in one.shares[:SHOWN_VALUES]]
    if one.mean is not None:
        lines.append(style.row(mean_word(one.metric.kind), "", one.mean, NUMBER_DIGITS))
    lines.append(f"  {last} less {first}")
    digits = SHARE_DIGITS if one.mean is None else NUMBER_DIGITS
    lines += [style.row(word(value), "", change, digits) for value, change in one.changes[:SHOWN_VALUES]]
    if changed is not None and changed.corrected is not None:
        lines.append(
            f"  if nothing had changed from {changed.first} to {changed.last}: p = {changed.corrected:.2g}, corrected"
        )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(windows: Sequence[MetricEstimate], style: Style) -> Iterator[str]:
    """Yield for each value its windows, one below the other, so that a change meets the eye."""
    positions, left_out = shown_values(windows[-1])
    for same in zip(*(lines_of(estimated, positions) for estimated in windows), strict=True):
        for index, (estimated, line) in enumerate(zip(windows, same, strict=True)):
            label = line.label if index == 0 else ""
            yield style.row(label, _window(estimated), line.figure, line.digits, line.ends)
    if left_out:
        yield f"  … and {left_out:,} more values; --format json and csv have all"


def shown_values(estimated: MetricEstimate) -> tuple[Sequence[int], int]:
    """Return the positions of the values that a table shows, in the domain's order, and how many it leaves out."""
    shares = estimated.shares
    if shares is None:
        return (), 0
    if len(shares) <= SHOWN_VALUES:
        return range(len(shares)), 0
    sizes = shares.shrunken if shares.shrunken.size else shares.highs
    largest = np.argsort(-sizes, kind="stable")[:SHOWN_VALUES]
    return sorted(largest.tolist()), len(shares) - SHOWN_VALUES


def lines_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[Line]:
    """Yield each thing that has a line; bins have none."""
    if estimated.shares is not None:
        for position in positions:
            value, share = estimated.shares[position]
            yield Line(word(value), share, SHARE_DIGITS, SHARES)
    if estimated.mean is not None:
        yield Line(mean_word(estimated.metric.kind), estimated.mean, NUMBER_DIGITS, estimated.mean_range)
    if estimated.distribution is not None:
        yield Line("variance ~", estimated.distribution.variance, NUMBER_DIGITS, None)
        for probability, one in estimated.distribution.quantiles:
            yield Line(f"{probability:.0%} are at most ~", one, NUMBER_DIGITS, estimated.mean_range)


def _answered_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    if estimated.answered:
        yield f"  among those who answered, {_window(estimated)}"
    for value, one in estimated.answered[:SHOWN_VALUES]:
        yield style.row(word(value), "", one, SHARE_DIGITS, SHARES)


def _joint_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the shares within groups, the clearest difference, and whether the two questions depend."""
    domain, joint = estimated.metric.domain, estimated.joint
    if joint is None or not isinstance(domain, Cross):
        return
    groups, outcomes = domain.names
    yield f"  {style.cut(outcomes)} within each group of {style.cut(groups)}, {_window(estimated)}"
    for group in joint.groups:
        for value, one in group.outcomes:
            yield style.row(word((group.label, value)), "", one, SHARE_DIGITS, SHARES)
    yield from _clearest(joint, style)
    if joint.independence is not None:
        test = joint.independence
        yield f"  if {style.cut(groups)} and {style.cut(outcomes)} had nothing to do with each other:"
        yield f"  p = {test.p_value:.2g} (chi-square {test.statistic:.1f}, {test.degrees_of_freedom} d.f.)"


def _cluster_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the clusters of the answers, where there is more than one, and how sure their number is."""
    found = estimated.clusters
    if found is None:
        return
    number = len(found.clusters)
    counted = "1 cluster" if number == 1 else f"{number} clusters"
    yield f"  {counted} ~, {_window(estimated)}: so many in {found.numbers[number - 1]:.0%} of resampled tallies"
    for one in found.clusters if number > 1 else ():
        stable = f"stable {one.stability:.2f}"
        yield style.row(cluster_words(one), stable, one.share, SHARE_DIGITS, SHARES)


def _fakes_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield how far made-up reports could have moved each value that is shown, and what the test says."""
    found = estimated.fakes
    if found is None:
        return
    yield f"  if {found.fraction:.3g} of the reports were made up, {_window(estimated)}: down, up"
    moves = []
    if found.shares is not None:
        positions, _ = shown_values(estimated)
        moves += [(word(label), move) for label, move in (found.shares[position] for position in positions)]
    if found.mean is not None:
        moves.append((mean_word(estimated.metric.kind), found.mean))
    for label, move in moves:
        yield f"  {style.cut(label):{style.value_width}} {'':11} {move.down:9.4g}  {move.up:9.4g}"
    yield f"  {fakes.verdict_of(found.test)}"


def _clearest(joint: Joint, style: Style) -> Iterator[str]:
    known = [one for one in joint.differences if one.estimate.unbiased is not None and one.estimate.standard_error]
    if not known:
        return
    clearest = max(known, key=lambda one: abs(one.estimate.unbiased or 0) / (one.estimate.standard_error or 1))
    one, (first, second) = clearest.estimate, (style.cut(word(label)) for label in clearest.groups)
    value = style.cut(word(clearest.label))
    yield f"  clearest of {len(joint.differences):,} differences: {value}, {first} less {second}:"
    yield style.row("", "", one, SHARE_DIGITS)


def _window(estimated: MetricEstimate) -> str:
    return estimated.window.text + ("" if estimated.closed else "*")
