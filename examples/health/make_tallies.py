"""Writes ``tallies.ndjson``, with a closed window for each year.

Each answer is randomized by the mechanism of its metric.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from client_sdk.protocol import Registry
from client_sdk.protocol.window import Window
from estimator.rehearsal.ground_truth import read_csv

HERE = Path(__file__).parent
SEED = 7
FIRST_DAY = 15
"""The number of the day before 2026-11-16. Year 1 of the experiment becomes the window 2026-11-16.
"""


def main() -> None:
    """Write the tallies of all years."""
    registry = Registry.load(HERE / "metrics.toml")
    generator = np.random.default_rng(SEED)
    with (HERE / "health.csv").open(newline="", encoding="utf-8") as file:
        people = list(csv.DictReader(file))
    with (HERE / "tallies.ndjson").open("w", encoding="utf-8") as file:
        for year in sorted({row["year"] for row in people}):
            rows = [{name: row[name] for name in registry.metrics} for row in people if row["year"] == year]
            for line in tallies(registry, rows, f"2026-11-{FIRST_DAY + int(year)}", generator):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")


def tallies(
    registry: Registry, rows: list[dict[str, str]], window: str, generator: np.random.Generator
) -> Iterator[dict[str, object]]:
    """Yield the tally of each metric. Each row represents a device."""
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "answers.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(registry.metrics))
            writer.writeheader()
            writer.writerows(rows)
        source = read_csv(table, registry, 1)
    for population in source.populations:
        if population.at_hand is None:
            continue
        counts = population.draws()(population.at_hand, Window.parse(window), generator).tolist()
        about = {
            "metric": population.metric.name,
            "edition": population.metric.edition,
            "window": window,
            "closed": True,
        }
        yield about | {"reports": sum(counts), "counts": counts}


if __name__ == "__main__":
    main()
