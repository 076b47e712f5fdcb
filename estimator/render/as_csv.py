"""The report for spreadsheets and data frames: one flat row a (metric, window, value); RFC 4180 but for line ends.

Texts stand exactly as the registry has them, also where a spreadsheet would take one for a formula (one that begins
with =, +, - or @): the registry is the analyst's own file, and a program that reads the rows must find its values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from client_sdk.spec.epsilon import as_float
from estimator.estimate import MetricEstimate
from estimator.render.words import word
from estimator.report import POPULATION, Report

COLUMNS = (
    "metric", "edition", "window", "closed", "kind", "mechanism", "epsilon", "reports", "statistic", "value",
    "estimate", "standard_error", "low", "high", "estimate_ml", "confidence", "population",
)  # fmt: skip


def as_csv(report: Report) -> str:
    """Return the report as CSV; a field without an estimate is empty, a truth value is ``true`` or ``false``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for estimated in report.metrics:
        writer.writerows([*row, report.confidence, POPULATION] for row in _rows(estimated))
    return text.getvalue()


def _rows(estimated: MetricEstimate) -> Iterator[list[object]]:
    metric = estimated.metric
    about = [
        metric.name, metric.edition, estimated.window.text, word(estimated.closed), metric.kind, metric.channel.name,
        as_float(metric.epsilon_nanos), estimated.reports,
    ]  # fmt: skip
    lines = [("share", word(value), share) for value, share in estimated.shares]
    if estimated.mean is not None:
        lines = [("mean", "", estimated.mean)]
    for statistic, value, one in lines:
        yield [*about, statistic, value, one.unbiased, one.standard_error, one.low, one.high, one.likeliest]
