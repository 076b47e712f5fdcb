"""Measures all promised figures, and writes the results to RESULTS.md.

``python -m benchmarks`` measures everything. ``python -m benchmarks collector html`` runs only
these two benchmarks, and leaves other sections unchanged.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from benchmarks.bulk import measure_bulk
from benchmarks.changes import measure_changes
from benchmarks.channels import measure_channels
from benchmarks.collector import measure_collector
from benchmarks.commands import measure_commands
from benchmarks.coverage.page import measure_coverage
from benchmarks.estimator import measure_estimator
from benchmarks.exact import measure_exact
from benchmarks.fresh import measure_fresh
from benchmarks.held import measure_held
from benchmarks.hostile import measure_hostile
from benchmarks.html import measure_html
from benchmarks.latency import measure_latency
from benchmarks.metrics import measure_metrics
from benchmarks.models import measure_models
from benchmarks.nearest import measure_nearest
from benchmarks.peers.compare import measure_peers
from benchmarks.quantiles import measure_quantiles
from benchmarks.relay import measure_relay
from benchmarks.sdk import measure_sdk
from benchmarks.sizing import RESULTS
from benchmarks.stores import measure_stores
from benchmarks.text.page import measure_text
from benchmarks.typescript import measure_browsers, measure_typescript
from benchmarks.vectors import measure_vectors
from benchmarks.workers import measure_workers
from tests.support.services.outer_environment import settings
from tests.support.services.programs import RUNS_SYSTEM_TEST

PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "collector": measure_collector,
    "latency": measure_latency,
    "workers": measure_workers,
    "bulk": measure_bulk,
    "relay": measure_relay,
    "stores": measure_stores,
    "held": measure_held,
    "hostile": measure_hostile,
    "metrics": measure_metrics,
    "sdk": measure_sdk,
    "commands": measure_commands,
    "typescript": measure_typescript,
    "browsers": measure_browsers,
    "nearest": measure_nearest,
    "estimator": measure_estimator,
    "html": measure_html,
    "exact": measure_exact,
    "channels": measure_channels,
    "quantiles": measure_quantiles,
    "changes": measure_changes,
    "vectors": measure_vectors,
    "text": measure_text,
    "models": measure_models,
    "coverage": measure_coverage,
    "peers": measure_peers,
    "fresh": measure_fresh,
}
"""The function that runs each benchmark, by its name, in the order of the sections."""

MARK: Final = "<!-- {} -->\n"


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"there is no part {', '.join(unknown)}; the parts are: {', '.join(PARTS)}")
    for name in settings(os.environ):
        del os.environ[name]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every process compiles the project again
    os.environ[RUNS_SYSTEM_TEST] = "benchmarks"  # some measurements open browsers
    for name in names or PARTS:
        sys.stderr.write(f"{name} …\n")
        write({name: section(PARTS[name]())})


def section(text: str) -> str:
    """Return a section with a line below its heading on the time and machine of the measurement."""
    heading, _, rest = text.partition("\n")
    day = datetime.now(UTC).date()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{heading}\n\nMeasured on {day}: {machine}.\n{rest}"


def write(measured: dict[str, str]) -> None:
    """Write sections into the file, in place of older sections of the same benchmarks."""
    sections = read(RESULTS.read_text(encoding="utf-8")) | measured
    head = (
        "# Results\n\n`make bench` writes this page. Clients, servers and the store share the cores of one machine.\n\n"
    )
    body = (MARK.format(name) + sections[name].strip("\n") + "\n" for name in PARTS if name in sections)
    RESULTS.write_text(head + "\n".join(body), encoding="utf-8")


def read(text: str) -> dict[str, str]:
    _, *pieces = re.split(r"^<!-- (\w+) -->\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


if __name__ == "__main__":
    main(sys.argv[1:])
