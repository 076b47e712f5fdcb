"""The figures of every metric's last closed window as gauges, in the OpenMetrics text format.

Prometheus reads the file through the textfile collector of its node exporter. If no new file is
written, the exporter keeps serving the last file. Alert rules should therefore compare
`hearsay_window_end_timestamp_seconds` with the current time.

Found texts are left out, because devices choose the texts, and each text would become a time
series.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from estimator.formats.tables import FOUND_TEXT, metric_rows
from estimator.report.conclusions import by_value, shown_values
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport
from estimator.results.statistic import STATISTICS
from estimator.words import cell_of

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

FIGURES: Final = {
    "hearsay_estimate": "The unclipped, unbiased estimate. For a distribution, a smoothed estimate in the interval.",
    "hearsay_low": "The lower end of the interval.",
    "hearsay_high": "The upper end of the interval.",
}
"""The names and descriptions of each figure's gauges."""

METRICS: Final = {
    "hearsay_reports": "The number of reports in the last closed window.",
    "hearsay_window_start_timestamp_seconds": "The time at which the last closed window began.",
    "hearsay_window_end_timestamp_seconds": "The time at which the last closed window ended.",
}
"""The names and descriptions of the gauges that each metric has once."""

ABOUT: Final = "hearsay_metric_info"
"""The gauge with labels that describe a metric. The value of this gauge is always 1."""

OF_METRIC: Final = ("metric", "edition", "group")

DESCRIPTION: Final = ("title", "unit", "counted")
"""The labels of `ABOUT` in addition to `OF_METRIC`. ``counted`` states how numbers outside the
range are counted.
"""

OF_FIGURE: Final = (*OF_METRIC, "statistic", "value")

GROUPED: Final = frozenset({"mean_within", "share_within"})
"""The statistics of groups of devices. Labels of figures begin with the group's name."""


def as_openmetrics(report: EstimateReport) -> str:
    """Return the gauges of every metric.

    The label ``group`` names a public stratum. For a pair of metrics, ``group`` is an answer to the
    first metric. Only the values with the largest shares have gauges, as on the page.
    """
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 takes 90 ms, and no other format needs it
    from prometheus_client.openmetrics.exposition import generate_latest  # noqa: PLC0415 likewise

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gauges(report))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode()


class _Gauges:
    def __init__(self, report: EstimateReport) -> None:
        self._last = {estimated.metric: estimated for estimated in report.metrics if estimated.closed}
        self._confidence = report.confidence

    def collect(self) -> Iterator[GaugeMetricFamily]:
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 as above

        figures = {name: GaugeMetricFamily(name, text, labels=OF_FIGURE) for name, text in FIGURES.items()}
        metrics = {name: GaugeMetricFamily(name, text, labels=OF_METRIC) for name, text in METRICS.items()}
        about_metrics = GaugeMetricFamily(ABOUT, "The description of a question.", labels=(*OF_METRIC, *DESCRIPTION))
        for estimated in self._last.values():
            name, _, stratum = estimated.metric.removesuffix("]").partition("[")
            about = (name, estimated.edition, stratum)
            about_metrics.add_metric((*about, estimated.title, estimated.unit, estimated.counted), 1)
            span = estimated.span
            instants = (estimated.reports, span.starts_at, span.ends_at)
            for gauge, value in zip(metrics.values(), instants, strict=True):
                gauge.add_metric(about, value)
            for labels, ends in self._figures(estimated, about):
                for gauge, number in zip(figures.values(), ends, strict=True):
                    if number is not None:
                        gauge.add_metric(labels, number)
        yield from (*figures.values(), *metrics.values(), about_metrics)

    def _figures(
        self, estimated: MetricEstimate, about: tuple[str, str, str]
    ) -> Iterator[tuple[tuple[str, ...], tuple[float | None, ...]]]:
        many, shown = by_value(estimated), shown_values(estimated)
        seen = set() if many is None else {many.figures.labels[position] for position in shown}
        for key, figure, row in metric_rows(estimated, self._confidence):
            statistic = None if key is None else STATISTICS[key.statistic]
            if row.statistic == FOUND_TEXT or (statistic and not (statistic.line or statistic.table_heading)):
                continue
            if many is not None and row.statistic == many.statistic and figure.value not in seen:
                continue
            name, edition, stratum = about
            group, value = _parts(figure.value) if row.statistic in GROUPED else (stratum, row.value or "")
            yield (name, edition, group, row.statistic, value), (row.estimate, row.low, row.high)


def _parts(value: Any) -> tuple[str, str]:  # noqa: ANN401 a group, or a group and an answer in it
    group, *answers = value if isinstance(value, tuple) else (value,)
    return cell_of(group), cell_of(tuple(answers))
