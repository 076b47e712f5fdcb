"""The time to estimate tallies, for a thousand and for a hundred million reports."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Registry

REGISTRY = Path(__file__).parents[1] / "examples" / "health" / "metrics.toml"
ROUNDS = 7
SEED = 20261120
FEW, MANY = 10**3, 10**8


def measure_estimator() -> str:
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder:
        files = {reports: draw_tallies(Path(folder), reports) for reports in (FEW, MANY)}
        times: dict[int, list[float]] = {FEW: [], MANY: []}
        for _ in range(ROUNDS):
            for reports, file in files.items():
                times[reports].append(report_s(file))
    ratio = median(times[MANY]) / median(times[FEW])
    slowest = max(times[MANY])
    return (
        "## Estimator\n\nThe table shows the time of `hearsay-estimator report`, with start-up, for randomly "
        "drawn tallies, as median (range).\n\n"
        + table(
            ("reports per metric", "seconds"),
            [["10^3", spread(times[FEW], 3)], ["10^8", spread(times[MANY], 3)]],
        )
        + f"\nTime for 10^8 reports, divided by that for 10^3: **{ratio:.2f}**. The slowest: "
        + verdict(slowest <= 1, f"{slowest:.2f} s", "≤ 1 s")
    )


def draw_tallies(folder: Path, reports: int) -> Path:
    """Write a file of random tallies with this number of reports. Answers are uniform."""
    generator = np.random.default_rng(SEED)
    file = folder / f"tallies-{reports}.ndjson"
    lines = []
    for metric in Registry.load(REGISTRY).metrics.values():
        channel = metric.channel
        law = np.array(
            [
                [float(channel.probability(symbol, given)) for symbol in range(channel.symbols)]
                for given in range(channel.inputs)
            ]
        ).mean(axis=0)
        counts = [int(count) for count in generator.multinomial(reports, law / law.sum())]
        line = {"metric": metric.name, "edition": metric.edition, "window": "2026-11-20", "closed": True}
        lines.append(json.dumps(line | {"reports": reports, "counts": counts}) + "\n")
    file.write_text("".join(lines), encoding="utf-8")
    return file


def report_s(tallies: Path) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "estimator", "report", "--registry", str(REGISTRY), "--tallies", str(tallies)],
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - started
