"""The report for people: 80 columns, a block a metric, the windows of one value beneath each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from client_sdk.spec import Cross, Metric
from estimator.distribution import Resampled
from estimator.figure import Estimate
from estimator.joint import Joint
from estimator.metric_estimate import MetricEstimate
from estimator.pooling import Pooled
from estimator.render import central, fakes
from estimator.render.words import cluster_words, mean_word, mechanism_words, word
from estimator.report import Report

VALUE_WIDTH = 17
"""Columns for a value; what is longer is cut with an ellipsis (JSON and CSV have all of it)."""

HEADING = f"  {'':{VALUE_WIDTH}} {'window':10}  {'estimate ± error':>18}  {{interval:^17}}  {'likeliest':>9}"

FOOTNOTES = """\
estimate ± error: unbiased, with its standard error; never clipped, so that it
may lie outside what is possible. Shares within a group, and their differences,
are ratios of such: unbiased but for a little where reports are few.
likeliest: maximum likelihood among what is possible; biased near the limits.
Standard errors and intervals take the devices for a random sample of a
population; they hold the chance of who reported and the mechanism's noise.
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
for independent, which is careful.
"""


SHOWN_VALUES = 50
"""Of a large category only so many, those with the largest shares in its last window; a table is for the eye."""

SHARE_DIGITS, NUMBER_DIGITS = ".4f", ".5g"

PRELIMINARY_FOOTNOTE = "*: preliminary; the window is still open and its figures will change.\n"


def as_table(report: Report) -> str:
    """Return the report as text."""
    if not report.metrics:
        return NOTHING_SKIPPED if report.skipped else NOTHING
    blocks = [
        _block(metric, list(windows), report.confidence)
        for metric, windows in groupby(report.metrics, key=lambda estimated: estimated.metric)
    ]
    preliminary = any(not estimated.closed for estimated in report.metrics)
    point = any(_has_a_point(estimated) for estimated in report.metrics)
    smoothed = any(one.distribution is not None or one.clusters is not None for one in report.metrics)
    notes = {
        FOOTNOTES: True,
        TOGETHER_FOOTNOTE: report.simultaneous,
        POINT_FOOTNOTE: point,
        SMOOTHED_FOOTNOTE: smoothed,
        central.FOOTNOTE: bool(report.composed),
        fakes.FOOTNOTE: any(estimated.fakes is not None for estimated in report.metrics),
        POOLED_FOOTNOTE: bool(report.pooled),
        PRELIMINARY_FOOTNOTE: preliminary,
    }
    together = [_pooled_block(one) for one in report.pooled]
    together += [central.composed_lines(report.composed)] if report.composed else []
    return "\n".join([*blocks, *together, "".join(note for note, applies in notes.items() if applies)])


def _has_a_point(estimated: MetricEstimate) -> bool:
    mean = estimated.mean
    of_mean = mean is not None and mean.low == mean.high
    return of_mean or (estimated.shares is not None and estimated.shares.has_a_point)


def _block(metric: Metric, windows: Sequence[MetricEstimate], confidence: float) -> str:
    lines = [
        f"{metric.name}: {metric.kind}",
        f"  {mechanism_words(metric)}",
        *(f"  reports in {_window(estimated)}: {estimated.reports:,}" for estimated in windows),
        HEADING.format(interval=f"{confidence:.0%} interval"),
        *_rows(windows),
        *(line for estimated in windows for line in (*_answered_lines(estimated), *_joint_lines(estimated))),
        *filter(None, map(central.line_of, windows)),
        *(line for estimated in windows for line in (*_cluster_lines(estimated), *_fakes_lines(estimated))),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _pooled_block(one: Pooled) -> str:
    first, last = one.windows[0], one.windows[-1]
    lines = [f"{one.metric.name}: {len(one.windows)} windows together, {first} to {last}, {one.reports:,} reports"]
    shares = one.shares[:SHOWN_VALUES]
    lines += [f"  {cut(word(value)):{VALUE_WIDTH}} {'':11} {_numbers(share, SHARE_DIGITS)}" for value, share in shares]
    if one.mean is not None:
        lines.append(f"  {mean_word(one.metric.kind):{VALUE_WIDTH}} {'':11} {_numbers(one.mean, NUMBER_DIGITS)}")
    lines.append(f"  {last} less {first}")
    digits = SHARE_DIGITS if one.mean is None else NUMBER_DIGITS
    changes = one.changes[:SHOWN_VALUES]
    lines += [f"  {cut(word(value)):{VALUE_WIDTH}} {'':11} {_numbers(change, digits)}" for value, change in changes]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(windows: Sequence[MetricEstimate]) -> Iterator[str]:
    """Yield for each value its windows, one below the other, so that a change meets the eye."""
    positions, left_out = shown_values(windows[-1])
    for same in zip(*(lines_of(estimated, positions) for estimated in windows), strict=True):
        for index, (estimated, (name, one, digits)) in enumerate(zip(windows, same, strict=True)):
            label = cut(name) if index == 0 else ""
            numbers = _smoothed(one, digits) if isinstance(one, Resampled) else _numbers(one, digits)
            yield f"  {label:{VALUE_WIDTH}} {_window(estimated):11} {numbers}"
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


def lines_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[tuple[str, Estimate | Resampled, str]]:
    """Yield the label, the thing and its digits of each thing that has a line; bins have none."""
    if estimated.shares is not None:
        for position in positions:
            value, share = estimated.shares[position]
            yield word(value), share, SHARE_DIGITS
    if estimated.mean is not None:
        yield mean_word(estimated.metric.kind), estimated.mean, NUMBER_DIGITS
    if estimated.distribution is not None:
        yield "variance ~", estimated.distribution.variance, NUMBER_DIGITS
        for probability, one in estimated.distribution.quantiles:
            yield f"{probability:.0%} are at most ~", one, NUMBER_DIGITS


def _answered_lines(estimated: MetricEstimate) -> Iterator[str]:
    if estimated.answered:
        yield f"  among those who answered, {_window(estimated)}"
    for value, one in estimated.answered[:SHOWN_VALUES]:
        yield f"  {cut(word(value)):{VALUE_WIDTH}} {'':11} {_numbers(one, SHARE_DIGITS)}"


def _joint_lines(estimated: MetricEstimate) -> Iterator[str]:
    """Yield the shares within groups, the clearest difference, and whether the two questions depend."""
    domain, joint = estimated.metric.domain, estimated.joint
    if joint is None or not isinstance(domain, Cross):
        return
    groups, outcomes = domain.names
    yield f"  {cut(outcomes)} within each group of {cut(groups)}, {_window(estimated)}"
    for group in joint.groups:
        for value, one in group.outcomes:
            yield f"  {cut(word((group.label, value))):{VALUE_WIDTH}} {'':11} {_numbers(one, SHARE_DIGITS)}"
    yield from _clearest(joint)
    if joint.independence is not None:
        test = joint.independence
        yield f"  if {cut(groups)} and {cut(outcomes)} had nothing to do with each other:"
        yield f"  p = {test.p_value:.2g} (chi-square {test.statistic:.1f}, {test.degrees_of_freedom} d.f.)"


def _cluster_lines(estimated: MetricEstimate) -> Iterator[str]:
    """Yield the clusters of the answers, where there is more than one, and how sure their number is."""
    found = estimated.clusters
    if found is None:
        return
    number = len(found.clusters)
    counted = "1 cluster" if number == 1 else f"{number} clusters"
    yield f"  {counted} ~, {_window(estimated)}: so many in {found.numbers[number - 1]:.0%} of resampled tallies"
    for one in found.clusters if number > 1 else ():
        stable = f"stable {one.stability:.2f}"
        yield f"  {cut(cluster_words(one)):{VALUE_WIDTH}} {stable:11} {_smoothed(one.share, SHARE_DIGITS)}"


def _fakes_lines(estimated: MetricEstimate) -> Iterator[str]:
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
        yield f"  {cut(label):{VALUE_WIDTH}} {'':11} {move.down:9.4g}  {move.up:9.4g}"
    yield f"  {fakes.verdict_of(found.test)}"


def _clearest(joint: Joint) -> Iterator[str]:
    known = [one for one in joint.differences if one.estimate.unbiased is not None and one.estimate.standard_error]
    if not known:
        return
    clearest = max(known, key=lambda one: abs(one.estimate.unbiased or 0) / (one.estimate.standard_error or 1))
    one, (first, second) = clearest.estimate, (cut(word(label)) for label in clearest.groups)
    yield f"  clearest of {len(joint.differences):,} differences: {cut(word(clearest.label))}, {first} less {second}:"
    yield f"  {'':{VALUE_WIDTH}} {'':11} {_numbers(one, SHARE_DIGITS)}"


def _numbers(one: Estimate, digits: str) -> str:
    estimate = "no reports"
    if one.unbiased is not None:
        estimate = f"{one.unbiased:{digits}} ± {one.standard_error:{digits}}"
    likeliest = "" if one.likeliest is None else f"{one.likeliest:{digits}}"
    return f"{estimate:>18}  {f'{one.low:{digits}} … {one.high:{digits}}':^17}  {likeliest:>9}"


def _smoothed(one: Resampled, digits: str) -> str:
    estimate = "no reports" if one.estimate is None else f"{one.estimate:{digits}}"
    return f"{estimate:>18}  {f'{one.low:{digits}} … {one.high:{digits}}':^17}"


def _window(estimated: MetricEstimate) -> str:
    return estimated.window.text + ("" if estimated.closed else "*")


def cut(text: str) -> str:
    """Return a text that is no wider than a value may be."""
    return text if len(text) <= VALUE_WIDTH else text[: VALUE_WIDTH - 1] + "…"
