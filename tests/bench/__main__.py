"""Measures everything that the project promises in numbers, and writes RESULTS.md."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.amplification import measure_amplification
from tests.bench.bulk import measure_bulk
from tests.bench.channels import measure_channels
from tests.bench.collector import measure_collector
from tests.bench.estimator import measure_estimator
from tests.bench.fresh import measure_fresh
from tests.bench.html import measure_html
from tests.bench.metrics import measure_metrics
from tests.bench.participation import measure_participation
from tests.bench.peers.compare import measure_peers
from tests.bench.sdk import measure_sdk

RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    """Measure and write, saying what is under way."""
    day = datetime.now(UTC).date()
    head = (
        "# Results\n\n"
        f"Written by `make bench` on {day}: {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}. Clients, servers and store share the cores.\n\n"
    )
    sections = []
    parts = (
        *(
            measure_collector,
            measure_bulk,
            measure_metrics,
            measure_sdk,
            measure_participation,
            measure_estimator,
            measure_html,
            measure_amplification,
        ),
        *(measure_channels, measure_peers, measure_fresh),
    )
    for measure in parts:
        sys.stderr.write(f"{measure.__name__} …\n")
        sections.append(measure())
    RESULTS.write_text(head + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
