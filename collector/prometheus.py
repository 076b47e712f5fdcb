"""Prometheus metrics of a collector or a relay, served on a separate address.

Metrics of resources, such as processor time, have a separate series for each process. A sum over
the processes would decrease when a worker exits, and Prometheus would mistake the decrease for a
reset. A worker's name, such as worker-1, contains the number of its row of counters (see
`counters`). If a worker is replaced, the new process continues the series, with its own start time.

The metrics reveal nothing about a single upload, report or request.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from collector.api.messages import with_headers
from collector.counters import (
    BATCHES,
    BUCKETS_S,
    HELD,
    LABELS,
    OLDEST_NS,
    OPERATION_NAMES,
    PROBLEMS,
    RELAYED,
    REPORTS,
    STORE_ERRORS,
    UPLOADS,
    SharedCounters,
    Totals,
    worker_pids,
)
from collector.errors import ConfigError
from collector.maintenance import Health

_COUNTERS = (
    (
        UPLOADS,
        "hearsay_uploads",
        "Uploads with a verdict: counted (at least in part), refused as a whole, or duplicates of earlier uploads.",
        "outcome",
    ),
    (
        REPORTS,
        "hearsay_reports",
        "Perturbed reports by verdict: accepted, or the reason for the refusal. Duplicates are not included.",
        "verdict",
    ),
    (PROBLEMS, "hearsay_problems", "Problem responses by code, including those for single uploads of a batch.", "code"),
)

_RELAY_COUNTERS = (
    (
        RELAYED,
        "hearsay_relay_uploads",
        "Uploads in batches: answered or unanswered. The relay mixes the uploads of one batch.",
        "outcome",
    ),
    (
        BATCHES,
        "hearsay_relay_batches",
        "Batches: answered, unavailable (no valid answer), refused (wrong relay key), or abandoned by all devices.",
        "outcome",
    ),
    (
        PROBLEMS,
        "hearsay_relay_problems",
        "Problem responses to devices, by code. Unknown codes from the collector count as collector_unavailable.",
        "code",
    ),
)


@contextmanager
def served_metrics(address: str, port: int, gather: Callable[[], Iterable[Metric]]) -> Iterator[None]:
    """Serve the metrics that ``gather`` returns, during a ``with`` block.

    Raises:
        ConfigError: if the address cannot be used.
    """
    registry = CollectorRegistry()
    registry.register(_Exposition(gather))
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise ConfigError(
            f"cannot serve metrics on {address}:{port}: {error.strerror}; choose another address with --metrics-bind"
        ) from error
    server.set_app(with_headers(make_wsgi_app(registry)))
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Exposition(Collector):
    """Collects the current values of all metrics for each request."""

    def __init__(self, gather: Callable[[], Iterable[Metric]]) -> None:
        self._gather = gather

    def describe(self) -> Iterable[Metric]:
        """Return no names, which prometheus_client would only use to find duplicates."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return every metric."""
        return self._gather()


def relay_families(
    shared_counters: SharedCounters, clock_ns: Callable[[], int] = time.monotonic_ns
) -> Iterator[Metric]:
    """Yield every metric of a relay. ``clock_ns`` returns the monotonic time in nanoseconds."""
    totals = Totals(shared_counters)
    yield from _counters(_RELAY_COUNTERS, totals)
    yield GaugeMetricFamily(
        "hearsay_relay_held_uploads", "Uploads in batches that were sent and are not answered yet.", totals.total(HELD)
    )
    since_ns = totals.total(OLDEST_NS)
    yield GaugeMetricFamily(
        "hearsay_relay_oldest_batch_seconds",
        "The time for which the oldest unanswered batch has waited. 0 if no batch waits.",
        (clock_ns() - since_ns) / 1e9 if since_ns else 0.0,
    )
    yield _build()
    yield from process_families(shared_counters)


def families(shared_counters: SharedCounters, health: Health) -> Iterator[Metric]:
    """Yield every metric of a collector."""
    totals = Totals(shared_counters)
    yield from _counters(_COUNTERS, totals)
    yield CounterMetricFamily("hearsay_store_errors", "Errors of the store.", totals.total(STORE_ERRORS))
    yield CounterMetricFamily(
        "hearsay_store_restarts",
        "How often the embedded store ended by itself and was restarted.",
        health.store_restarts,
    )
    yield _latency(totals)
    yield from _gauges(health)
    yield from process_families(shared_counters)


def _counters(table: Iterable[tuple[str, str, str, str]], totals: Totals) -> Iterator[Metric]:
    for name, exposed, description, label in table:
        counter = CounterMetricFamily(exposed, description, labels=(label,))
        for value in LABELS[name]:
            counter.add_metric((value,), totals.total(name, value))
        yield counter


def _latency(totals: Totals) -> Metric:
    latency = HistogramMetricFamily(
        "hearsay_request_seconds",
        "Time from a request's head to its response, including the arrival of its body.",
        labels=("operation",),
    )
    for operation in OPERATION_NAMES:
        buckets, sum_s = totals.latency(operation)
        bounds = (*map(str, BUCKETS_S), "+Inf")
        latency.add_metric((operation,), list(zip(bounds, accumulate(buckets), strict=True)), sum_s)
    return latency


def _gauges(health: Health) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "hearsay_store_up", "Whether the store answered within the last second and lacks no data.", health.is_up
    )
    yield GaugeMetricFamily(
        "hearsay_store_noted", "Whether missing data in the embedded store's file would be noticed.", health.is_noted
    )
    yield GaugeMetricFamily(
        "hearsay_store_memory_used_ratio",
        "The used fraction of maxmemory on the fullest server; without maxmemory, of the machine's memory.",
        health.memory_used,
    )
    yield GaugeMetricFamily(
        "hearsay_clock_suspected",
        "Whether all recent reports were refused because of their windows, as happens if this host's clock is wrong.",
        health.clock_is_suspected,
    )
    windows = GaugeMetricFamily("hearsay_windows", "Windows that have a tally.", labels=("state",))
    windows.add_metric(("open",), health.open_windows)
    windows.add_metric(("closed",), health.closed_windows)
    yield windows
    reports = GaugeMetricFamily(
        "hearsay_window_reports",
        "Perturbed reports in open windows, as of the latest snapshot. No series before the first snapshot.",
        labels=("metric", "window"),
    )
    for labels, count in health.open_reports.items():
        reports.add_metric(labels, count)
    yield reports
    yield _build()


def _build() -> Metric:
    build = GaugeMetricFamily("hearsay_build_info", "Always 1.", labels=("version", "python"))
    build.add_metric((version("hearsay-ldp"), platform.python_version()), 1)
    return build


def process_families(shared_counters: SharedCounters) -> Iterator[Metric]:
    """Yield the ``process_*`` metrics of all processes, labeled with the process's name.

    A process that has ended has no metrics. On systems without ``/proc``, no process has metrics.
    """
    workers = {f"worker-{number}": pid for number, pid in enumerate(worker_pids(shared_counters), 1)}
    families: dict[str, Metric] = {}
    for name, pid in ({"main": os.getpid()} | workers).items():
        for family in ProcessCollector(pid=partial(int, pid), registry=None).collect():
            known = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                known.add_sample(sample.name, {"process": name}, sample.value)
    yield from families.values()
