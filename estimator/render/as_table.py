"""The report for people: 80 columns, a block a metric, the windows of one value beneath each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from client_sdk.spec import Metric
from client_sdk.spec.epsilon import as_float
from estimator.distribution import Resampled
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
    point = any(one.low == one.high for estimated in report.metrics for one in estimated.estimates)
    smoothed = any(estimated.distribution is not None for estimated in report.metrics)
    notes = FOOTNOTES + POINT_FOOTNOTE * point + SMOOTHED_FOOTNOTE * smoothed + PRELIMINARY_FOOTNOTE * preliminary
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
    for same in zip(*(lines_of(estimated) for estimated in windows), strict=True):
        for index, (estimated, (name, one)) in enumerate(zip(windows, same, strict=True)):
            digits = ".4f" if estimated.mean is None else ".5g"
            label = cut(name) if index == 0 else ""
            numbers = _smoothed(one, digits) if isinstance(one, Resampled) else _numbers(one, digits)
            yield f"  {label:{VALUE_WIDTH}} {_window(estimated):11} {numbers}"


def lines_of(estimated: MetricEstimate) -> Iterator[tuple[str, Estimate | Resampled]]:
    """Yield the label of each thing that has a line, and the thing; bins have none."""
    if estimated.mean is None:
        yield from ((word(value), share) for value, share in estimated.shares)
    else:
        yield "mean", estimated.mean
    if estimated.distribution is not None:
        yield "variance ~", estimated.distribution.variance
        yield from ((f"{probability:.0%} are below ~", one) for probability, one in estimated.distribution.quantiles)


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
