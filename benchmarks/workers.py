"""The benefit of a collector's second worker, and the cost of its Prometheus metrics."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.collector import REGISTRY, SAME_RATE_PER_S
from benchmarks.load import request, send_all, uploads
from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Registry
from tests.support.services.processes import RunningCollector, cpu_seconds, free_port, running_collector

ROUNDS = 4
UPLOADS = 1500
CORES = 4
"""The cores for two workers, the store and the senders. With fewer cores, two workers are no faster
than one worker.
"""

GOAL = 1.7

RATE_PER_S = 500.0
"""The uploads per second for each worker. At this rate, two cores are enough for two workers, the
store and the senders.
"""

UNBOUND = float("inf")


@dataclass
class Figures:
    """Processor microseconds of all workers per upload, and uploads per second, by round."""

    cpu_us: list[float] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)


def measure_workers() -> str:
    registry = Registry.load(REGISTRY)
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name:
        folder = Path(name)
        with (
            running_collector(REGISTRY, folder / "one" / "data") as first,
            running_collector(REGISTRY, folder / "two" / "data", "--workers", "2") as second,
        ):
            alone, together = side_by_side(registry, first, second, UNBOUND, UNBOUND)
            at_rate, each_at_rate = side_by_side(registry, first, second, RATE_PER_S, 2 * RATE_PER_S)
        with (
            running_collector(REGISTRY, folder / "without" / "data") as without,
            running_collector(
                *(REGISTRY, folder / "with" / "data", "--metrics-bind", f"127.0.0.1:{free_port()}")
            ) as with_metrics,
        ):
            uncounted, counted = side_by_side(registry, without, with_metrics, SAME_RATE_PER_S, SAME_RATE_PER_S)
    rows = [
        ["one worker, as many as possible", spread(alone.cpu_us), spread(alone.per_s)],
        ["two workers, as many as possible", spread(together.cpu_us), spread(together.per_s)],
        ["one worker, 500 a second", spread(at_rate.cpu_us), spread(at_rate.per_s)],
        ["two workers, 500 a second each", spread(each_at_rate.cpu_us), spread(each_at_rate.per_s)],
        ["without `--metrics-bind`, 1,000 a second", spread(uncounted.cpu_us), spread(uncounted.per_s)],
        ["with `--metrics-bind`, 1,000 a second", spread(counted.cpu_us), spread(counted.per_s)],
    ]
    return (
        "## Workers\n\n"
        f"In each of {ROUNDS} rounds, two collectors take turns. Each gets {UPLOADS:,} uploads of 4 reports on 8\n"
        "connections. The processor time is that of all workers of a collector, and the store has `appendfsync\n"
        "always`. Cells show the median (range).\n\n"
        + table(("what", "CPU µs per upload", "uploads/s"), rows)
        + "\nUploads/s of two workers, divided by those of one: "
        + _scaling(_ratio(together.per_s, alone.per_s), 2 * _ratio(at_rate.cpu_us, each_at_rate.cpu_us))
        + "\n\nProcessor time of an upload with `--metrics-bind`, divided by that without: "
        f"**{_ratio(counted.cpu_us, uncounted.cpu_us):.2f}**\n"
    )


def side_by_side(
    registry: Registry, first: RunningCollector, second: RunningCollector, *per_s: float
) -> tuple[Figures, Figures]:
    """Measure two collectors alternately, each with at most a given number of uploads a second."""
    figures = Figures(), Figures()
    for number in range(-1, ROUNDS):  # the first round only warms up
        for collector, measured, rate in zip((first, second), figures, per_s, strict=True):
            requests = [request("/v1/reports", body) for body in uploads(registry, UPLOADS)]
            busy_s = _busy_s(collector)
            elapsed_s = send_all(int(collector.url.rpartition(":")[2]), requests, per_s=rate)
            if number >= 0:
                measured.cpu_us.append((_busy_s(collector) - busy_s) / UPLOADS * 1e6)
                measured.per_s.append(UPLOADS / elapsed_s)
    return figures


def _busy_s(collector: RunningCollector) -> float:
    return sum(map(cpu_seconds, collector.worker_pids()))


def _scaling(measured: float, would: float) -> str:
    """Return a text on the throughput of two workers, divided by that of one worker.

    With too few cores, this ratio is computed from processor times instead.
    """
    if (os.cpu_count() or 1) >= CORES:
        return verdict(measured >= GOAL, f"{measured:.2f}", f"≥ {GOAL}")
    return (
        f"**{measured:.2f}**. This ratio has no meaning here, because two workers, the store and the senders share "
        f"{os.cpu_count()} cores.\nThe ratio for separate cores follows from the processor times of uploads at the "
        f"same rate: **{would:.2f}** (wanted: ≥ {GOAL} where cores allow it)"
    )


def _ratio(values: list[float], others: list[float]) -> float:
    return median(value / other for value, other in zip(values, others, strict=True))
