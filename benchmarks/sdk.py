"""What the SDK costs its host: import, record, perturbation."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.results import spread, table, verdict
from client_sdk import Recorded, Registry, Telemetry
from client_sdk.answers.coins import SystemCoins
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse

ROUNDS = 15
RECORDS = 300
PERTURBATIONS = 200_000
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


def measure_sdk() -> str:
    """Return the section of the results."""
    requests_ms, sdk_ms, names_ms = import_times()
    share = median(sdk_ms) / median(requests_ms)
    record_ms = record_times()
    rates = perturbation_rates(RandomizedResponse.within(RequestedEpsilon.parse("ln 3")).perturb, 2)
    many = perturbation_rates(KAryRandomizedResponse.within(RequestedEpsilon.parse(1), 32).perturb, 32)
    return (
        "## SDK\n\n"
        + table(
            ("what", "median (range)"),
            [
                ["`import requests`, ms", spread(requests_ms, 1)],
                ["`import client_sdk`, ms (its names load at first use)", spread(sdk_ms, 1)],
                ["`from client_sdk import Registry, Telemetry`, ms", spread(names_ms, 1)],
                ["`record` with a durable queue, ms", spread(record_ms, 2)],
                ["randomised response, thousand/s", spread([rate / 1000 for rate in rates])],
                ["k-ary randomised response, k = 32, thousand/s", spread([rate / 1000 for rate in many])],
            ],
        )
        + "\n`import client_sdk` over `import requests`: "
        + verdict(share <= 0.4, f"{share:.2f}", "≤ 0.4")
        + "\n`record`: "
        + verdict(median(record_ms) <= 1, f"{median(record_ms):.2f} ms", "≤ 1 ms")
        + "\nRandomised response in a Python loop with CSPRNG coins: "
        + verdict(median(rates) >= 500e3, f"{median(rates) / 1000:,.0f} k/s", "≥ 500 k/s")
        + "\nk-ary, k = 32: "
        + verdict(median(many) >= 300e3, f"{median(many) / 1000:,.0f} k/s", "≥ 300 k/s")
    )


def import_times() -> tuple[list[float], list[float], list[float]]:
    """Return milliseconds of three imports, each in fresh interpreters, in turn."""
    statements = ("import requests", "import client_sdk", "from client_sdk import Registry, Telemetry")
    rounds = [[_import_ms(statement) for statement in statements] for _ in range(ROUNDS)]
    first, second, third = (list(column) for column in zip(*rounds, strict=True))
    return first, second, third


def _import_ms(statement: str) -> float:
    program = f"import time; s = time.perf_counter(); {statement}; print((time.perf_counter() - s) * 1000)"
    return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout)


def record_times() -> list[float]:
    """Return milliseconds of each record, one a day for three hundred days."""
    times_ms = []
    now = [1_795_176_000.0]
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
        for _ in range(RECORDS):
            started = time.perf_counter()
            result = telemetry.record("dark_mode", value=True)
            times_ms.append((time.perf_counter() - started) * 1000)
            assert result is Recorded.QUEUED
            now[0] += DAY_S
    return times_ms


def perturbation_rates(perturb: Callable[[int, SystemCoins], int], inputs: int) -> list[float]:
    """Return perturbations per second in five rounds."""
    coins = SystemCoins()
    values = [index % inputs for index in range(PERTURBATIONS)]
    rates = []
    for _ in range(5):
        started = time.perf_counter()
        for value in values:
            perturb(value, coins)
        rates.append(PERTURBATIONS / (time.perf_counter() - started))
    return rates
