"""Prometheus metrics of all workers, on an address of their own. The only importer of prometheus_client.

They are for whoever runs the service: counts of uploads, perturbed reports and requests, and nothing of any one of
them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import accumulate

from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from collector.api.headers import with_headers
from collector.errors import ConfigError
from collector.monitoring.counters import (
    BUCKETS_S,
    LABELS,
    OPERATION_NAMES,
    PROBLEMS,
    REPORTS,
    STORE_ERRORS,
    UPLOADS,
    Totals,
)
from collector.monitoring.health import Health
from collector.monitoring.sheet import Sheet

_COUNTERS = (
    (UPLOADS, "hearsay_uploads", "Uploads that got a verdict: counted, or a duplicate of one that was.", "outcome"),
    (REPORTS, "hearsay_reports", "Perturbed reports of the uploads counted: accepted, or why refused.", "verdict"),
    (PROBLEMS, "hearsay_problems", "Answers that were a problem, of lines of batches too, by its code.", "code"),
)


@contextmanager
def served_metrics(address: str, port: int, sheet: Sheet, health: Callable[[], Health]) -> Iterator[None]:
    """Serve the metrics while the context is entered.

    Raises:
        ConfigError: if the address cannot be used.

    """
    registry = CollectorRegistry()
    registry.register(_Exposition(sheet, health))
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise ConfigError(
            f"cannot serve metrics on {address}:{port}: {error.strerror}; choose another with --metrics-bind"
        ) from error
    server.set_app(with_headers(make_wsgi_app(registry)))
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Exposition(Collector):
    """All metrics, gathered when they are asked for."""

    def __init__(self, sheet: Sheet, health: Callable[[], Health]) -> None:
        self._sheet = sheet
        self._health = health

    def describe(self) -> Iterable[Metric]:
        """Say nothing beforehand: there is one collector, whose names cannot clash."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        return families(self._sheet, self._health())


def families(sheet: Sheet, health: Health) -> Iterator[Metric]:
    """Yield every metric: of all processes that counted on a sheet, and of the store as it was last seen."""
    totals = Totals(sheet)
    for name, exposed, description, label in _COUNTERS:
        counter = CounterMetricFamily(exposed, description, labels=(label,))
        for value in LABELS[name]:
            counter.add_metric((value,), totals.of(name, value))
        yield counter
    yield CounterMetricFamily(
        "hearsay_store_errors", "Times that the store did not do as asked.", totals.of(STORE_ERRORS)
    )
    yield _latency(totals)
    yield from _gauges(health)


def _latency(totals: Totals) -> Metric:
    latency = HistogramMetricFamily(
        "hearsay_request_seconds",
        "From a request's head to its answer, its body's arrival included.",
        labels=("operation",),
    )
    for operation in OPERATION_NAMES:
        buckets, sum_s = totals.latency(operation)
        bounds = (*map(str, BUCKETS_S), "+Inf")
        latency.add_metric((operation,), list(zip(bounds, accumulate(buckets), strict=True)), sum_s)
    return latency


def _gauges(health: Health) -> Iterator[Metric]:
    yield GaugeMetricFamily("hearsay_store_up", "Whether the store answered within the last second.", health.is_up)
    yield GaugeMetricFamily(
        "hearsay_store_noted", "Whether a loss in the embedded store's file would be seen.", health.is_noted
    )
    yield GaugeMetricFamily(
        "hearsay_store_memory_used_ratio",
        "The used part of the memory that the store may use, of the fullest server of several.",
        health.memory_used,
    )
    windows = GaugeMetricFamily("hearsay_windows", "Windows that have a tally.", labels=("state",))
    windows.add_metric(("open",), health.open_windows)
    windows.add_metric(("closed",), health.closed_windows)
    yield windows
    build = GaugeMetricFamily("hearsay_build_info", "Always 1.", labels=("version", "python"))
    build.add_metric((version("hearsay-ldp"), platform.python_version()), 1)
    yield build
