"""The time and memory of a device for a text, and of the estimator for a tally of texts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.results import table, verdict
from benchmarks.text.populations import random_strings
from benchmarks.text.surveys import TEXT, Survey
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol import Metric
from tests.support.devices.definitions import metric_of

DAY: Final = "2026-11-23"
LETTERS: Final = 16
EPSILONS: Final = (1, 2, 4)
SIZES: Final = (10**4, 3 * 10**6)
PROCESSES: Final = 5
REPORTS: Final = 2000
DEVICE_MS: Final = 0.2
DECODE_S: Final = 0.5
DECODE_MB: Final = 200

_DECODE: Final = """
import re, sys, time
import numpy as np
from benchmarks.text.surveys import TEXT, decoded
from tests.support.devices.definitions import metric_of
tally, length, epsilon = np.load(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
metric = metric_of(TEXT, max_length=length, epsilon=epsilon)
clocks = (time.process_time, time.perf_counter)
before_s = [clock() for clock in clocks]
decoded(metric, tally)
spent_s = [clock() - before for clock, before in zip(clocks, before_s)]
peak_kib = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]  # getrusage tells of the parent, too
print(*spent_s, int(peak_kib) / 1024)
"""


def costs() -> str:
    rows, slowest_s, largest_mb = [], 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder:
        file, population = Path(folder) / "tally.npy", random_strings()
        for epsilon in EPSILONS:
            survey = Survey.asked(population, epsilon)
            for devices in SIZES:
                tally = survey.drawn(devices, np.random.default_rng(1))
                np.save(file, tally)
                measured = [_decoded(file, epsilon) for _ in range(PROCESSES)]
                seconds, elapsed_s, mb = (median(column) for column in zip(*measured, strict=True))
                slowest_s, largest_mb = max(slowest_s, seconds), max(largest_mb, mb)
                times = (f"{seconds:.2f}", f"{elapsed_s:.2f}", f"{mb:.0f}")
                rows.append([f"{epsilon:g}", f"{devices:,}", f"{len(tally):,}", *times])
    device_ms = max(_device_ms(metric_of(TEXT, max_length=LETTERS, epsilon=epsilon)) for epsilon in EPSILONS)
    return (
        "\n### Time and memory\n\n"
        f"A process finds the strings of {LETTERS} letters in a tally. The table shows its processor seconds, the\n"
        f"elapsed seconds, and its peak memory with Python and numpy. Each figure is the median of {PROCESSES}\n"
        "processes.\n\n"
        + table(("epsilon", "devices", "symbols", "processor seconds", "elapsed", "MB"), rows)
        + "\nThe slowest: "
        + verdict(slowest_s <= DECODE_S, f"{slowest_s:.2f} s", f"≤ {DECODE_S:g} s")
        + "\nThe largest: "
        + verdict(largest_mb <= DECODE_MB, f"{largest_mb:.0f} MB", f"≤ {DECODE_MB} MB")
        + f"\nTime of a device from a text of {LETTERS} letters to a symbol, at the slowest epsilon: "
        + verdict(device_ms <= DEVICE_MS, f"{device_ms:.3f} ms", f"≤ {DEVICE_MS:g} ms")
    )


def _decoded(file: Path, epsilon: float) -> tuple[float, ...]:
    """Estimate the texts of a tally in a new process.

    Return the processor seconds, elapsed seconds and megabytes of this process.
    """
    command = [sys.executable, "-c", _DECODE, str(file), str(LETTERS), str(epsilon)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return tuple(map(float, done.stdout.split()))


def _device_ms(metric: Metric) -> float:
    coins, text = SystemCoins(), "unbelievableness"[:LETTERS]
    metric.perturb(text, coins, DAY)
    begun = time.process_time()
    for _ in range(REPORTS):
        metric.perturb(text, coins, DAY)
    return 1000 * (time.process_time() - begun) / REPORTS
