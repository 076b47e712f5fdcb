"""The processor time of a worker for counting a request in its Prometheus metrics."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.collector import ROUNDS
from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Verdict
from collector.app import with_latency
from collector.counters import WorkerCounters, new_shared_counters
from collector.store.store_protocol import CountedUpload

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

CALLS = 200_000
GOAL_US = 5.0

COUNTED = CountedUpload(Verdict(4), is_duplicate=False)
REQUEST = {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/reports"}


def measure_metrics() -> str:
    def bare(_: object, __: object) -> Iterable[bytes]:
        return []

    counters = WorkerCounters(new_shared_counters())

    def counting(_: object, __: object) -> Iterable[bytes]:
        counters.add_counted(COUNTED)
        return []

    counted = with_latency(counting, counters)
    rounds = [(cpu_us(bare), cpu_us(counted)) for _ in range(ROUNDS)]
    costs = [with_counts - without for without, with_counts in rounds]
    return (
        "## Metrics\n\n"
        f"A worker's metrics count uploads (here of 4 reports) and their latencies. In {ROUNDS} rounds of {CALLS:,}\n"
        "calls, the processor time of counting one upload has this median (range).\n\n"
        + table(("what", "µs"), [["counting a request", spread(costs, 2)]])
        + "\nCounting a request: "
        + verdict(median(costs) <= GOAL_US, f"{median(costs):.2f} µs", f"≤ {GOAL_US:.0f} µs")
        + "\n"
    )


def cpu_us(application: Callable[..., Iterable[bytes]] | WSGIApplication) -> float:
    gc.collect()
    began = time.process_time()
    for _ in range(CALLS):
        application(REQUEST, None)  # type: ignore[arg-type] # it sends no answer
    return (time.process_time() - began) / CALLS * 1e6
