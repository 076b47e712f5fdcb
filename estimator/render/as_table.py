"""The report for people: 80 columns, a block a metric, the windows of one value beneath each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from client_sdk.spec import Metric
from client_sdk.spec.epsilon import as_float
from estimator.estimate import Estimate, MetricEstimate
from estimator.render.words import word
from estimator.report import Report

VALUE_WIDTH = 17
"""Columns for a value; what is longer is cut with an ellipsis (JSON and CSV have all of it)."""

HEADING = f"  {'':{VALUE_WIDTH}} {'window':10}  {'estimate ± error':>18}  {{interval:^17}}  {'likeliest':>9}"

FOOTNOTES = """\
estimate ± error: unbiased, with its standard error; never clipped, so that it
may lie outside what is possible.
likeliest: maximum likelihood among what is possible; biased near the limits.
Standard errors and intervals take the devices for a random sample of a
population; they hold the chance of who reported and the mechanism's noise.
"""

POINT_FOOTNOTE = """\
An interval of one point: the tally lies beyond what the mechanism produces on
average at any truth; the end that is shown is the nearest, not a certainty.
"""

PRELIMINARY_FOOTNOTE = "*: preliminary; the window is still open and its figures will change.\n"


def as_table(report: Report) -> str:
    """Return the report as text."""
    if not report.metrics:
        return "There is nothing to report: no tally of these windows belongs to the registry.\n"
    blocks = [
        _block(metric, list(windows), report.confidence)
        for metric, windows in groupby(report.metrics, key=lambda estimated: estimated.metric)
    ]
    preliminary = any(not estimated.closed for estimated in report.metrics)
    point = any(one.low == one.high for estimated in report.metrics for one in estimated.estimates)
    notes = FOOTNOTES + POINT_FOOTNOTE * point + PRELIMINARY_FOOTNOTE * preliminary
    return "\n".join([*blocks, notes])


def _block(metric: Metric, windows: Sequence[MetricEstimate], confidence: float) -> str:
    lines = [
        f"{metric.name}: {metric.kind}",
        f"  {metric.channel.name}, epsilon {as_float(metric.epsilon_nanos):.9f}",
        *(f"  reports in {_window(estimated)}: {estimated.reports:,}" for estimated in windows),
        HEADING.format(interval=f"{confidence:.0%} interval"),
        *_rows(windows),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(windows: Sequence[MetricEstimate]) -> Iterator[str]:
    """Yield for each value its windows, one below the other, so that a change meets the eye."""
    for position in range(max(1, len(windows[0].shares))):
        for index, estimated in enumerate(windows):
            name, one = _line(estimated, position)
            digits = ".4f" if estimated.mean is None else ".5g"
            label = _cut(name) if index == 0 else ""
            yield f"  {label:{VALUE_WIDTH}} {_window(estimated):11} {_numbers(one, digits)}"


def _line(estimated: MetricEstimate, position: int) -> tuple[str, Estimate]:
    if estimated.mean is not None:
        return "mean", estimated.mean
    value, share = estimated.shares[position]
    return word(value), share


def _numbers(one: Estimate, digits: str) -> str:
    estimate = "no reports"
    if one.unbiased is not None:
        estimate = f"{one.unbiased:{digits}} ± {one.standard_error:{digits}}"
    likeliest = "" if one.likeliest is None else f"{one.likeliest:{digits}}"
    return f"{estimate:>18}  {f'{one.low:{digits}} … {one.high:{digits}}':^17}  {likeliest:>9}"


def _window(estimated: MetricEstimate) -> str:
    return estimated.window.text + ("" if estimated.closed else "*")


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_WIDTH else text[: VALUE_WIDTH - 1] + "…"
