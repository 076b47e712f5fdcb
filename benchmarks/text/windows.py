"""The time and memory of a report on texts, for a tally with the maximum number of symbols."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.results import table, verdict
from benchmarks.text.populations import LONGEST, random_strings
from benchmarks.text.surveys import TEXT, Survey
from client_sdk.protocol import Registry
from estimator.statistics.arrays import Counts
from tests.support.devices.definitions import registry_text

EPSILON: Final = 4
"""The measured epsilon with the largest number of symbols."""

SIZES: Final = (10**4, 10**7)
PROCESSES: Final = 5
WINDOW: Final = "2026-11-20"
REPORT_S: Final = 3
REPORT_MB: Final = 500

_REPORT: Final = """
import re, sys, time
clocks = (time.process_time, time.perf_counter)
before_s = [clock() for clock in clocks]
from estimator.commands.cli import command
command(sys.argv[1:], standalone_mode=False)
spent_s = [clock() - before for clock, before in zip(clocks, before_s)]
peak_kib = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]  # getrusage tells of the parent, too
print(*spent_s, int(peak_kib) / 1024, file=sys.stderr)
"""


def windows() -> str:
    rows, slowest_s, largest_mb = [], 0.0, 0.0
    survey = Survey.asked(random_strings(), EPSILON)
    registry = registry_text(word={**TEXT, "max_length": LONGEST, "epsilon": EPSILON})
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name:
        folder = Path(name)
        (folder / "metrics.toml").write_text(registry, encoding="utf-8")
        for devices in SIZES:
            line = _line(Registry.parse(registry), survey.drawn(devices, np.random.default_rng(1)))
            (folder / "tallies.ndjson").write_text(line, encoding="utf-8")
            measured = [_reported(folder) for _ in range(PROCESSES)]
            seconds, elapsed_s, mb = (median(column) for column in zip(*measured, strict=True))
            slowest_s, largest_mb = max(slowest_s, seconds), max(largest_mb, mb)
            sizes = (f"{devices:,}", f"{len(line) / 1e6:.1f}")
            rows.append([*sizes, f"{seconds:.2f}", f"{elapsed_s:.2f}", f"{mb:.0f}"])
    symbols = survey.metric.channel.symbols
    return (
        f"\nThe next table shows all of `hearsay-estimator report --format html` for one window of {symbols:,}\n"
        "symbols: start-up, reading, decoding, table and page. The second column is the length of the tally's\n"
        f"line. Figures are medians of {PROCESSES} processes.\n\n"
        + table(("devices", "million characters", "processor seconds", "elapsed", "MB"), rows)
        + "\nThe slowest: "
        + verdict(slowest_s <= REPORT_S, f"{slowest_s:.2f} s", f"≤ {REPORT_S} s")
        + "\nThe largest: "
        + verdict(largest_mb <= REPORT_MB, f"{largest_mb:.0f} MB", f"≤ {REPORT_MB} MB")
    )


def _line(registry: Registry, tally: Counts) -> str:
    """Return a tally as the line of JSON that a collector sends, without unreported symbols."""
    (metric,) = registry.metrics.values()
    symbols = np.flatnonzero(tally)
    numbers = {"reports": int(tally.sum()), "symbols": symbols.tolist(), "counts": tally[symbols].tolist()}
    named = {"metric": metric.name, "edition": metric.edition, "window": WINDOW, "closed": True}
    return json.dumps(named | numbers) + "\n"


def _reported(folder: Path) -> tuple[float, ...]:
    """Write the report in a new process.

    Return the processor seconds, elapsed seconds and megabytes of this process.
    """
    files = ("--registry", "metrics.toml", "--tallies", "tallies.ndjson", "--output", "report.html")
    command = [sys.executable, "-c", _REPORT, "report", *files]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=folder)
    return tuple(map(float, done.stderr.splitlines()[-1].split()))
