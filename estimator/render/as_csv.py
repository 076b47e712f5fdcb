"""The report for spreadsheets and data frames: one flat row a (metric, window, value); RFC 4180 but for line ends.

Texts stand exactly as the registry has them, also where a spreadsheet would take one for a formula (one that begins
with =, +, - or @): the registry is the analyst's own file, and a program that reads the rows must find its values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from client_sdk.spec.epsilon import as_float
from client_sdk.spec.exact import float_ceiling
from estimator.distribution import Distribution, Resampled
from estimator.estimate import MetricEstimate
from estimator.figure import Estimate
from estimator.joint import Joint
from estimator.pooling import Pooled
from estimator.render.words import mean_word, word
from estimator.report import POPULATION, Report

COLUMNS = (
    "metric", "edition", "window", "closed", "kind", "mechanism", "epsilon", "reports", "statistic", "value",
    "estimate", "standard_error", "low", "high", "estimate_ml", "confidence", "population", "estimate_shrunk", "delta",
)  # fmt: skip


def as_csv(report: Report) -> str:
    """Return the report as CSV; a field without an estimate is empty, a truth value is ``true`` or ``false``."""
    rows = [row for estimated in report.metrics for row in rows_of(report, estimated)]
    return csv_text([COLUMNS, *rows, *(row for one in report.pooled for row in _pooled_rows(report, one))])


def rows_of(report: Report, estimated: MetricEstimate) -> Iterator[list[object]]:
    """Yield the fields of ``COLUMNS`` for each thing that was estimated; what is compared with a truth comes first."""
    metric = estimated.metric
    about = [
        metric.name, metric.edition, estimated.window.text, word(estimated.closed), metric.kind, metric.channel.name,
        as_float(metric.epsilon_nanos), estimated.reports,
    ]  # fmt: skip
    for statistic, value, one in _lines(estimated):
        numbers = (one.unbiased, one.standard_error, one.low, one.high, one.likeliest)
        yield [
            *about,
            statistic,
            value,
            *numbers,
            report.confidence,
            POPULATION,
            one.shrunken,
            float_ceiling(metric.delta),
        ]


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _lines(estimated: MetricEstimate) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the statistic, the value and the estimate of each line."""
    if estimated.shares is not None:
        yield from (("share", word(value), share) for value, share in estimated.shares)
    if estimated.mean is not None:
        yield mean_word(estimated.metric).replace(" ", "_"), "", estimated.mean
    if estimated.distribution is not None:
        yield from _distribution_lines(estimated.distribution)
    if estimated.total is not None:
        yield "sum", "", estimated.total
    yield from (("share_of_answered", word(value), one) for value, one in estimated.answered)
    if estimated.joint is not None:
        yield from _joint_lines(estimated.joint)


def _pooled_rows(report: Report, one: Pooled) -> Iterator[list[object]]:
    """Yield the figures of all windows together; their name is that of the first and of the last one."""
    metric = one.metric
    about = [
        metric.name, metric.edition, f"{one.windows[0]} to {one.windows[-1]}", "", metric.kind, metric.channel.name,
        as_float(metric.epsilon_nanos), one.reports,
    ]  # fmt: skip
    lines = [("pooled_share", word(value), share) for value, share in one.shares]
    lines += [] if one.mean is None else [("pooled_mean", "", one.mean)]
    lines += [("change", word(value), change) for value, change in one.changes]
    for statistic, value, figure in lines:
        numbers = (figure.unbiased, figure.standard_error, figure.low, figure.high, None)
        yield [*about, statistic, value, *numbers, report.confidence, POPULATION, None, float(metric.delta)]


def _distribution_lines(found: Distribution) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the smoothed figures; their intervals are by resampling, so the statistic's name says it."""
    likeliest = found.shares_ml or [None] * len(found.shares)
    yield "resampled_variance", "", _resampled(found.variance)
    for probability, one in found.quantiles:
        yield "resampled_quantile", str(probability), _resampled(one)
    for (low, high), one, share_ml in zip(found.bins, found.shares, likeliest, strict=True):
        yield "resampled_bin", f"{low} to {high}", _resampled(one, share_ml)


def _resampled(one: Resampled, likeliest: float | None = None) -> Estimate:
    return Estimate(one.estimate, None, one.low, one.high, likeliest)


def _joint_lines(joint: Joint) -> Iterator[tuple[str, str, Estimate]]:
    for group in joint.groups:
        yield from (("share_within", word((group.label, value)), one) for value, one in group.outcomes)
    for one in joint.differences:
        first, second = (word(label) for label in one.groups)
        yield "difference", f"{word(one.label)}: {first} less {second}", one.estimate
