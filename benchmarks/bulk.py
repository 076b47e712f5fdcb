"""The time of a collector for batches of uploads, with 4 or 256 reports in each upload."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.collector import REGISTRY, ROUNDS
from benchmarks.load import request, send_all, uploads
from benchmarks.results import spread, table, verdict
from client_sdk.protocol import MAX_REPORTS, Registry
from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS
from tests.support.services.processes import cpu_seconds
from tests.support.services.relaying import RELAY_KEY, collector_with_key

REPORTS = 200_000
"""The number of reports in a round.

Processor time is measured to a hundredth of a second, so a round must take seconds.
"""

GOALS = {4: 60_000, MAX_REPORTS: 150_000}
"""The goal for a worker: reports per second of processor time, by reports per upload.
"""

HEADERS = ("Content-Type: application/x-ndjson", f"Authorization: Bearer {RELAY_KEY}")


def measure_bulk() -> str:
    registry = Registry.load(REGISTRY)
    rows, verdicts = [], []
    with worker() as (port, pid):
        for reports, goal in GOALS.items():
            per_s = [reports_per_s(registry, reports, port, pid) for _ in range(ROUNDS)]
            rows.append([str(reports), str(uploads_a_batch(registry, reports)), spread(per_s)])
            median_per_s = median(per_s)
            verdicts.append(
                f"\nPer second of the worker's processor time, with {reports} reports per upload: "
                + verdict(median_per_s >= goal, f"{median_per_s:,.0f} reports", f"≥ {goal:,}")
                + "\n"
            )
    return (
        "## Bulk\n\n"
        f"One worker counts {REPORTS:,} reports in each of {ROUNDS} rounds, on 8 connections. Batches are as large\n"
        "as those of a relay. The worker's processor time is from `/proc/PID/stat`, and the store has `appendfsync\n"
        "always`. Cells show the median (range).\n\n"
        + table(("reports per upload", "uploads per batch", "reports per second of processor time"), rows)
        + "".join(verdicts)
    )


@contextlib.contextmanager
def worker() -> Iterator[tuple[int, int]]:
    """Run a collector that accepts batches from a relay.

    Yield the collector's port, and the process id of the worker.
    """
    with (
        tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder,
        collector_with_key(REGISTRY, Path(folder)) as collector,
    ):
        yield int(collector.url.rpartition(":")[2]), collector.worker_pids()[0]


def reports_per_s(registry: Registry, reports: int, port: int, pid: int) -> float:
    """Return the number of reports that the collector counts per second of processor time."""
    each = uploads_a_batch(registry, reports)
    bodies = uploads(registry, REPORTS // reports, reports)
    batches = [b"\n".join(bodies[start : start + each]) for start in range(0, len(bodies), each)]
    before = cpu_seconds(pid)
    send_all(port, [request("/v1/uploads", batch, HEADERS) for batch in batches])
    return REPORTS / (cpu_seconds(pid) - before)


def uploads_a_batch(registry: Registry, reports: int) -> int:
    """Return the number of uploads of a given size in a batch."""
    (body,) = uploads(registry, 1, reports)
    return min(MAX_BULK_UPLOADS, MAX_BULK_BYTES // (len(body) + 1))
