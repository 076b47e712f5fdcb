"""The latency of uploads that arrive at random times, at 70% of a collector's capacity."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from math import ceil, exp, factorial
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from benchmarks.collector import REGISTRY, ours
from benchmarks.load import ANSWER_TIMEOUT_S, read_answer, request, uploads
from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Registry
from collector.config import DEFAULT_THREADS

ROUNDS = 9
CAPACITY_UPLOADS = 4000
SECONDS = 4.0
LOAD = 0.7
SETTINGS: Mapping[str, tuple[str, ...]] = {
    f"{DEFAULT_THREADS} threads": (),
    "4 threads": ("--threads", "4"),
    "1 thread": ("--threads", "1"),
    "2 workers, 4 threads each": ("--workers", "2", "--threads", "4"),
}
"""The options of the collector by setting.

The first setting is the default, which suits slow senders. The second is for a collector behind a
proxy that buffers slow requests. The other settings are alternatives.
"""

CONNECTIONS = 64
"""The number of connections: four times the number of a worker's threads. An upload then waits only
for the worker, never for a connection.
"""

WRITES = 2000
UPLOAD_BYTES = 554
"""The number of bytes that an upload of four reports appends to the store's file (see `stores`)."""

SEED = 20_261_121
QUANTILES = (0.5, 0.99, 0.999)
MOST = 5.0


def measure_latency() -> str:
    registry = Registry.load(REGISTRY)
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name, contextlib.ExitStack() as running:
        folder = Path(name)
        ports = {
            setting: running.enter_context(ours(folder / str(place), *options))[0]
            for place, (setting, options) in enumerate(SETTINGS.items())
        }
        rounds = [_round(registry, ports, folder, Random(SEED + number)) for number in range(ROUNDS)]  # noqa: S311 a seeded draw of this bench, no secret
    rows = [
        [
            what,
            spread([each.capacities[what] for each in rounds]) if what in SETTINGS else "",
            *(spread([each.done[what][place] * 1e3 for each in rounds], 2) for place in range(len(QUANTILES))),
            spread(_tails(what, rounds), 1),
        ]
        for what in rounds[0].done
    ]
    return (
        "## Latency\n\n"
        f"For {SECONDS:.0f} s, requests arrive on {CONNECTIONS} connections at random times (a Poisson process).\n"
        f"Their rate is {LOAD:.0%} of the rate that the same collector reached just before, because the speed of a\n"
        "shared host varies. Times are in ms from the scheduled time of each request, so they include waiting.\n"
        "There is one worker unless a row says otherwise, and the store has `appendfsync always`. Every row is\n"
        f"measured in each of {ROUNDS} rounds; cells show the median (range).\n\n"
        + table(("", "capacity, uploads/s", *(f"{part:.1%} done, ms" for part in QUANTILES), "99% / 50%"), rows)
        + "\nThe last two rows show what the machine itself needs: for empty POSTs that arrive at the same times as\n"
        "the requests of the row above, and for one process's writes of an upload's size to the same disk. During\n"
        "the uploads, collector, store and sender kept\n"
        f"{spread([each.busy for each in rounds], 2)} of {os.cpu_count()} cores busy, and the\n"
        f"host gave {spread([each.stolen for each in rounds], 2)} cores to other machines. If a server handled one\n"
        f"request at a time, each in the same time, the last column would show {constant_service(LOAD):.1f} (the\n"
        "queue M/D/1).\n\n"
        "The 99th percentile of uploads, divided by their median, with 4 threads: "
        + verdict(median(_tails("4 threads", rounds)) <= MOST, spread(_tails("4 threads", rounds), 1), f"≤ {MOST:.0f}")
    )


def _tails(what: str, rounds: Sequence[_Round]) -> list[float]:
    return [each.done[what][1] / each.done[what][0] for each in rounds]


def constant_service(load: float) -> float:
    """Return the 99th percentile of the time in an M/D/1 queue, divided by the median.

    Source: Erlang 1909.
    """

    def done_within(waited: float) -> float:
        terms = ((-load * (waited - k)) ** k / factorial(k) * exp(load * (waited - k)) for k in range(int(waited) + 1))
        return (1 - load) * sum(terms)

    slowest, middle = (
        next(step / 100 for step in range(5000) if done_within(step / 100) >= part) for part in (0.99, 0.5)
    )
    return (1 + slowest) / (1 + middle)


class _Round(NamedTuple):
    """The measurements of a round.

    ``done`` contains quantiles of the seconds until completion, at ``QUANTILES``, for each setting
    and for disk writes. ``capacities`` are uploads per second. ``busy`` is the average number of
    busy cores during the uploads. ``stolen`` is the average number of cores that the host gave to
    other virtual machines during the uploads.
    """

    done: dict[str, list[float]]
    capacities: dict[str, float]
    busy: float
    stolen: float


def capacity(registry: Registry, port: int) -> float:
    """Measure the uploads per second if the collector never has to wait."""
    requests = [request("/v1/reports", body) for body in uploads(registry, CAPACITY_UPLOADS)]
    began = time.perf_counter()
    waits(port, requests, [0.0] * CAPACITY_UPLOADS)
    return CAPACITY_UPLOADS / (time.perf_counter() - began)


def _round(registry: Registry, ports: Mapping[str, int], folder: Path, random: Random) -> _Round:
    done: dict[str, list[float]] = {}
    capacities: dict[str, float] = {}
    busy_s, stolen_s = 0.0, 0.0
    due_s: list[float] = []
    for setting, port in ports.items():
        capacities[setting] = capacity(registry, port)
        due_s = sorted(random.uniform(0, SECONDS) for _ in range(round(LOAD * capacities[setting] * SECONDS)))
        requests = [request("/v1/reports", body) for body in uploads(registry, len(due_s))]
        before_s = core_seconds()
        done[setting] = quantiles(waits(port, requests, due_s))
        after_s = core_seconds()
        busy_s, stolen_s = busy_s + after_s[0] - before_s[0], stolen_s + after_s[1] - before_s[1]
    *_, last = ports.values()
    done["empty POSTs"] = quantiles(waits(last, [request("/empty", b"")] * len(due_s), due_s))
    done["writes"] = quantiles(writes(folder))
    all_s = SECONDS * len(ports)
    return _Round(done, capacities, busy_s / all_s, stolen_s / all_s)


def core_seconds() -> tuple[float, float]:
    """Return the seconds of work of the cores, and the seconds that the host took away.

    The seconds are sums over all cores since this virtual machine started. The host takes a core
    away to run other machines.
    """
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, stolen = map(int, fields[:8])
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / ticks, stolen / ticks


def writes(folder: Path) -> list[float]:
    """Measure the seconds until each of `WRITES` small writes is on the disk."""
    latencies_s = []
    with (folder / "written").open("wb", buffering=0) as file:
        for _ in range(WRITES):
            began = time.perf_counter()
            file.write(bytes(UPLOAD_BYTES))
            os.fdatasync(file.fileno())
            latencies_s.append(time.perf_counter() - began)
    return latencies_s


def quantiles(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[ceil(part * len(values)) - 1] for part in QUANTILES]


def waits(port: int, requests: Sequence[bytes], due_s: Sequence[float]) -> list[float]:
    """Send each request when it is due, on a free connection.

    Return the seconds from the due time of each request until its answer. ``due_s`` contains the
    due times in rising order, in seconds from the start. A single process handles all connections.
    A process for each connection would take cores away from the server.
    """
    waits_s: list[float] = []
    answer_due: dict[socket.socket, float] = {}
    with contextlib.ExitStack() as connections:
        free = [
            connections.enter_context(socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S))
            for _ in range(CONNECTIONS)
        ]
        coming = deque(zip(requests, due_s, strict=True))
        began = time.perf_counter()
        while coming or answer_due:
            while coming and free and began + coming[0][1] <= time.perf_counter():
                message, due = coming.popleft()
                connection = free.pop()
                connection.sendall(message)
                answer_due[connection] = began + due
            until_next = began + coming[0][1] - time.perf_counter() if coming and free else ANSWER_TIMEOUT_S
            answered, _, _ = select.select(answer_due, (), (), max(0.0, until_next))
            if not answered and until_next == ANSWER_TIMEOUT_S:
                raise RuntimeError("a request was not answered")
            for connection in answered:
                head = read_answer(connection)
                if b" 200 " not in head[:16]:
                    raise RuntimeError(head.decode(errors="replace"))
                waits_s.append(time.perf_counter() - answer_due.pop(connection))
                free.append(connection)
    return waits_s
