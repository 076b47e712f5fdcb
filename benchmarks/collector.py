"""The processor time of a collector for an upload of four reports.

The upload is compared with an empty POST, and with a Flask app that only stores uploads.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.load import request, send_all, uploads
from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Registry
from collector.embedded.store import EmbeddedStore
from tests.support.services.processes import RunningCollector, cpu_seconds, free_port, listens, wait_until

REGISTRY = Path(__file__).parents[1] / "examples" / "health" / "metrics.toml"

ROUNDS = 9
REQUESTS = 4000
SAME_RATE_PER_S = 1000.0
"""The rate of requests of either kind: about a third of a worker's capacity.

At the same rate, the worker is interrupted equally often, and its caches are equally cold.
"""


@dataclass
class Figures:
    """The processor time in microseconds per request, and the requests per second, by round."""

    cpu_us: list[float] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)


def measure_collector() -> str:
    registry = Registry.load(REGISTRY)
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder, ours(Path(folder)) as (port, worker):
        steady = [interleaved(registry, port, worker, SAME_RATE_PER_S)]
        saturated = [interleaved(registry, port, worker, float("inf"))]
        plain = Figures()
        collector = Figures()
        with plain_way(Path(folder)) as plain_port:
            for _ in range(ROUNDS):
                plain.per_s.append(rate(registry, plain_port))
                collector.per_s.append(rate(registry, port))
    return _section(steady[0], saturated[0], plain, collector)


def _section(
    steady: tuple[Figures, Figures], saturated: tuple[Figures, Figures], plain: Figures, collector: Figures
) -> str:
    rows = [
        [
            *(name, spread(empty.cpu_us), spread(upload.cpu_us), spread(ratios(empty, upload), 2)),
            *(spread(empty.per_s), spread(upload.per_s)),
        ]
        for name, (empty, upload) in (("1,000 requests/s", steady), ("as many as possible", saturated))
    ]
    same_rate = median(ratios(*steady))
    gain = median(collector.per_s) / median(plain.per_s)
    heading = ("load", "empty POST, CPU µs", "upload, CPU µs", "ratio", "empty POST/s", "uploads/s")
    return (
        "## Collector\n\n"
        f"In each of {ROUNDS} rounds, one worker answers {REQUESTS} empty POSTs and as many uploads on 8\n"
        "connections. Its processor time is from `/proc/PID/stat`, and the store has `appendfsync always`. Cells\n"
        "show the median (range).\n\n"
        + table(heading, rows)
        + "\nWorker processor time of an empty POST, divided by that of an upload of 4 reports at the same rate: "
        + verdict(same_rate >= 0.6, f"{same_rate:.2f}", "≥ 0.6")
        + "\n"
        + table(
            ("server", "uploads/s"),
            [
                ["a minimal Flask app under gunicorn (sync), which pushes JSON to a Redis list", spread(plain.per_s)],
                ["collector", spread(collector.per_s)],
            ],
        )
        + "\nCollector divided by the minimal app, in the same run and with the same fsync policy: "
        + verdict(gain >= 1.5, f"{gain:.2f}", "≥ 1.5")
    )


def ratios(empty: Figures, upload: Figures) -> list[float]:
    """Return, for each round, the processor time of an empty POST divided by an upload's."""
    return [of_empty / of_upload for of_empty, of_upload in zip(empty.cpu_us, upload.cpu_us, strict=True)]


def interleaved(registry: Registry, port: int, worker: int, per_s: float) -> tuple[Figures, Figures]:
    """Measure empty POSTs and uploads in alternating rounds."""
    empty, upload = Figures(), Figures()
    for _ in range(ROUNDS):
        measure(empty, port, worker, [request("/empty", b"")] * REQUESTS, per_s)
        measure(upload, port, worker, [request("/v1/reports", body) for body in uploads(registry, REQUESTS)], per_s)
    return empty, upload


def measure(figures: Figures, port: int, worker: int, requests: list[bytes], per_s: float) -> None:
    """Send requests in one round, and add the measurements to ``figures``."""
    before = cpu_seconds(worker)
    elapsed_s = send_all(port, requests, per_s=per_s)
    figures.cpu_us.append((cpu_seconds(worker) - before) / len(requests) * 1e6)
    figures.per_s.append(len(requests) / elapsed_s)


def rate(registry: Registry, port: int) -> float:
    requests = [request("/v1/reports", body) for body in uploads(registry, REQUESTS)]
    return len(requests) / send_all(port, requests)


@contextlib.contextmanager
def ours(folder: Path, *options: str) -> Iterator[tuple[int, int]]:
    """Run the collector with an additional route for empty POSTs.

    Yield the collector's port, and the process id of the worker.
    """
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.server", "serve", "--registry", str(REGISTRY)]
    command += ["--bind", f"127.0.0.1:{port}", "--data-dir", str(folder / "ours"), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "HEARSAY_READ_TOKEN": "read-token-of-the-benchmarks"}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        running = RunningCollector(f"http://127.0.0.1:{port}", folder / "ours", process, folder / "unused")
        yield port, running.worker_pids()[0]
        process.terminate()


@contextlib.contextmanager
def plain_way(folder: Path) -> Iterator[int]:
    """Run the minimal Flask app on a store with the same settings, and yield its port."""
    port = free_port()
    with EmbeddedStore(folder / "plain") as store:
        command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--log-level", "error"]
        with subprocess.Popen(
            [*command, "benchmarks.plain:app"], env={**os.environ, "PLAIN_STORE": store.url}
        ) as process:
            wait_until(lambda: listens(port), what="gunicorn")
            yield port
            process.terminate()
