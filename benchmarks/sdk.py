"""The cost of the SDK to an app: its import, `record`, and perturbation."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.peers.ours import kind_of, report_rate
from benchmarks.results import spread, table, verdict
from client_sdk import Recorded, Registry, Telemetry
from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

ROUNDS = 15
RECORDS = 300
DAY_S = 86_400

REGISTRY = """
schema = 1
[app]
name = "bench"
[budget]
per_window = 20
lifetime = 1e6
[metric.dark_mode]
purpose = "Is dark mode used?"
kind = "boolean"
epsilon = "ln 3"
"""


_FIRST = f"""
import os, sys, time
from client_sdk import Registry, Telemetry
registry = Registry.parse({REGISTRY!r})
began_s = time.perf_counter()
device = Telemetry(
    registry, collector="http://127.0.0.1:9", data_dir=sys.argv[1], consent=True,
    clock=lambda: time.time() + float(sys.argv[2]),
)
assert device.record("dark_mode", value=True) in ("queued", "waiting")
print((time.perf_counter() - began_s) * 1000)
began_s = time.perf_counter()
device.flush(5)
print((time.perf_counter() - began_s) * 1000)
"""
"""A program that records one answer and flushes, although no collector is running."""


def measure_sdk() -> str:
    requests_ms, sdk_ms = import_times()
    share = median(sdk_ms) / median(requests_ms)
    record_ms = record_times()
    new_ms, known_ms, offline_ms = first_times()
    sync_ms, async_ms = loop_times()
    rates = report_rates(kind_of(2), RandomizedResponse.within(RequestedEpsilon.parse("ln 3")))
    many = report_rates(kind_of(32), KAryRandomizedResponse.within(RequestedEpsilon.parse(1), 32))
    return (
        "## SDK\n\n"
        + table(
            ("what", "median (range)"),
            [
                ["`import requests`, ms", spread(requests_ms, 1)],
                ["`import client_sdk`, ms (its names load at first use)", spread(sdk_ms, 1)],
                ["`record` with a durable queue, ms", spread(record_ms, 2)],
                ["`Telemetry(…)` and first `record` in a fresh process, on a new device, ms", spread(new_ms, 1)],
                ["the same on a device with a ledger, ms", spread(known_ms, 1)],
                ["the first `flush(5)` of a process, if no collector answers, ms", spread(offline_ms)],
                ["how long `record` blocks an event loop, ms", spread(sync_ms, 2)],
                ["how long `await arecord` delays the loop's next turn, ms", spread(async_ms, 2)],
                ["randomized response, from answer to symbol, thousand/s", spread([rate / 1000 for rate in rates])],
                ["k-ary randomized response, k = 32, the same, thousand/s", spread([rate / 1000 for rate in many])],
            ],
        )
        + "\n`import client_sdk`, divided by `import requests`: "
        + verdict(share <= 0.4, f"{share:.2f}", "≤ 0.4")
        + "\n`record`: "
        + verdict(median(record_ms) <= 1, f"{median(record_ms):.2f} ms", "≤ 1 ms")
        + "\n`Telemetry(…)` and first `record`, on a device with a ledger: "
        + verdict(median(known_ms) <= 40, f"{median(known_ms):.0f} ms", "≤ 40 ms")
        + "\nRandomized response in a Python loop with CSPRNG coins: "
        + verdict(median(rates) >= 500e3, f"{median(rates) / 1000:,.0f} k/s", "≥ 500 k/s")
        + "\nk-ary, k = 32: "
        + verdict(median(many) >= 300e3, f"{median(many) / 1000:,.0f} k/s", "≥ 300 k/s")
    )


def import_times() -> tuple[list[float], list[float]]:
    """Measure the milliseconds of two imports, alternately, each in a new interpreter."""
    statements = ("import requests", "import client_sdk")
    rounds = [[_import_ms(statement) for statement in statements] for _ in range(ROUNDS)]
    first, second = (list(column) for column in zip(*rounds, strict=True))
    return first, second


def _import_ms(statement: str) -> float:
    program = f"import time; s = time.perf_counter(); {statement}; print((time.perf_counter() - s) * 1000)"
    return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout)


def record_times() -> list[float]:
    """Measure the milliseconds of each `record` on a device that records daily for 300 days."""
    times_ms = []
    now = [1_795_176_000.0]
    with _device(now) as telemetry:
        for _ in range(RECORDS):
            started = time.perf_counter()
            result = telemetry.record("dark_mode", value=True)
            times_ms.append((time.perf_counter() - started) * 1000)
            assert result is Recorded.QUEUED
            now[0] += DAY_S
    return times_ms


@contextlib.contextmanager
def _device(now: list[float]) -> Iterator[Telemetry]:
    """Open the SDK on a new device. Its clock shows ``now[0]``."""
    with (
        tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder,
        Telemetry(
            Registry.parse(REGISTRY),
            collector="http://127.0.0.1:9",
            data_dir=Path(folder) / "app",
            consent=True,
            clock=lambda: now[0],
        ) as telemetry,
    ):
        yield telemetry


def first_times() -> tuple[list[float], list[float], list[float]]:
    """Measure the milliseconds of three calls:

    * the first `record` on a new device;
    * the first `record` after a restart on a device with a ledger;
    * a flush without a network.
    """
    new_ms, known_ms, offline_ms = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder:
        for number in range(ROUNDS):
            for later_s, times_ms in ((0, new_ms), (DAY_S, known_ms)):
                command = [sys.executable, "-c", _FIRST, str(Path(folder) / str(number)), str(later_s)]
                said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                times_ms.append(float(said[0]))
                offline_ms.append(float(said[1]))
    return new_ms, known_ms, offline_ms


def loop_times() -> tuple[list[float], list[float]]:
    """Measure the milliseconds that `record` and the async `arecord` block an event loop."""
    now = [1_795_176_000.0]
    with _device(now) as telemetry:
        telemetry.record("dark_mode", value=True)
        return asyncio.run(_loop_times(telemetry, now))


async def _loop_times(telemetry: Telemetry, now: list[float]) -> tuple[list[float], list[float]]:
    sync_ms, async_ms = [], []
    for _ in range(RECORDS):
        now[0] += DAY_S
        started = time.perf_counter()
        telemetry.record("dark_mode", value=True)
        sync_ms.append((time.perf_counter() - started) * 1000)
        now[0] += DAY_S
        recording = asyncio.create_task(telemetry.arecord("dark_mode", value=True))
        started = time.perf_counter()
        await asyncio.sleep(0)
        async_ms.append((time.perf_counter() - started) * 1000)
        await recording
    return sync_ms, async_ms


def report_rates(kind: Kind, channel: Channel) -> list[float]:
    """Measure, in five rounds, the answers per second that are encoded and perturbed."""
    return [report_rate(kind, channel, 0.3) for _ in range(5)]
