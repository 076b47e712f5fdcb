"""The time from tallies to JSON for 50 metrics in 90 windows.

Command: ``python -m benchmarks.many_windows``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

import numpy as np

from client_sdk.protocol import Metric, Registry
from estimator.decoders.inversions import decoder_of, grid_law, inverse_of
from estimator.formats.json_documents import as_json
from estimator.report.report import make_report
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, NUMBER, ORDINAL, SET, Field, registry_text

WINDOWS: Final = 90
REPORTS: Final = 10_000
"""The number of reports in each tally. The time does not depend on this number."""

HISTOGRAMS: Final = 5
"""The number of metrics in the separate measurement of distributions."""

RUNS: Final = 5


def _category(size: int) -> dict[str, Field]:
    return CATEGORY | {"values": [f"value {number}" for number in range(size)]}


KINDS: Final[list[tuple[int, dict[str, Field]]]] = [
    (20, BOOLEAN),
    (10, _category(4)),
    (4, _category(12)),
    (2, _category(32)),
    (4, ORDINAL | {"values": ["1", "2", "3", "4", "5"], "mechanism": "auto"}),
    (6, NUMBER),
    (2, SET),
    (2, COUNT),
]
"""The number of metrics of each kind in a typical app. Each distribution adds hundredths of a
second.
"""


def registry() -> Registry:
    return Registry.parse(definitions())


def definitions() -> str:
    fields = [definition for times, definition in KINDS for _ in range(times)]
    text = registry_text(**{f"metric_{number:02}": definition for number, definition in enumerate(fields)})
    return text.replace("per_window = 20", "per_window = 99").replace("lifetime = 400", "lifetime = 9999")


def histograms() -> str:
    """Return metrics with distributions, the slowest metrics, as TOML."""
    wave = NUMBER | {"statistic": "distribution", "low": 0, "high": 5000}
    return registry_text(**{f"metric_{number}": wave for number in range(HISTOGRAMS)})


def tallies(metrics: Registry, windows: int = WINDOWS) -> Iterator[bytes]:
    """Yield the tallies of all metrics, drawn at random from the mechanisms' distributions."""
    rng = np.random.default_rng(1)
    for metric in metrics.metrics.values():
        for day in range(windows):
            law = np.maximum(_symbol_law(metric, rng), 0.0)
            counts = rng.multinomial(REPORTS, law / law.sum()).tolist()
            window = (date(2026, 8, 1) + timedelta(day)).isoformat()
            fields = {"metric": metric.name, "edition": metric.edition, "window": window, "closed": True}
            yield json.dumps(fields | {"reports": REPORTS, "counts": counts}).encode() + b"\n"


def _symbol_law(metric: Metric, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    shares = rng.dirichlet(np.full(metric.channel.inputs, 2.0))
    if decoder_of(metric.channel) is not None:
        return grid_law(metric.channel).symbol_law(shares)
    return inverse_of(metric.channel).symbol_law(shares)


def main() -> None:
    """Print the median time of several runs from tallies in NDJSON to a report in JSON."""
    metrics = registry()
    lines = [*tallies(metrics)]
    walls, processors, size = [], [], 0
    for _ in range(RUNS):
        wall, processor = time.perf_counter(), time.process_time()
        size = len(as_json(make_report(metrics, decode(lines))))
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    medians = f"median {statistics.median(walls):.2f} s, of the processor {statistics.median(processors):.2f} s"
    sys.stdout.write(f"{len(lines):,} tallies, {size / 2**20:.1f} MiB of JSON: {medians}\n")


if __name__ == "__main__":
    main()
