"""The report for spreadsheets and data frames: one flat row a (metric, window, value); RFC 4180 but for line ends.

Texts stand exactly as the registry has them, also where a spreadsheet would take one for a formula (one that begins
with =, +, - or @): the registry is the analyst's own file, and a program that reads the rows must find its values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import pairwise

from client_sdk.spec.epsilon import as_float
from estimator.distribution import Distribution
from estimator.estimate import MetricEstimate
from estimator.render.words import word
from estimator.report import POPULATION, Report

COLUMNS = (
    "metric", "edition", "window", "closed", "kind", "mechanism", "epsilon", "reports", "statistic", "value",
    "estimate", "standard_error", "low", "high", "estimate_ml", "confidence", "population",
)  # fmt: skip


def as_csv(report: Report) -> str:
    """Return the report as CSV; a field without an estimate is empty, a truth value is ``true`` or ``false``."""
    return csv_text([COLUMNS, *rows_of(report)])


def rows_of(report: Report) -> Iterator[list[object]]:
    """Yield the fields of ``COLUMNS`` for each thing that was estimated."""
    for estimated in report.metrics:
        yield from ([*row, report.confidence, POPULATION] for row in _rows(estimated))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
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
    if estimated.distribution is not None:
        yield from ([*about, *row] for row in _distribution_rows(estimated.distribution))


def _distribution_rows(found: Distribution) -> Iterator[list[object]]:
    """Yield the smoothed figures; their intervals are by resampling, so the statistic's name says it."""
    likeliest = found.shares_ml or [None] * len(found.shares)
    named = [
        ("resampled_variance", "", found.variance, None),
        *(("resampled_quantile", str(probability), one, None) for probability, one in found.quantiles),
        *(
            ("resampled_bin", f"{low} to {high}", one, share_ml)
            for (low, high), one, share_ml in zip(pairwise(found.edges), found.shares, likeliest, strict=True)
        ),
    ]
    for statistic, value, one, likeliest_one in named:
        yield [statistic, value, one.estimate, None, one.low, one.high, likeliest_one]
