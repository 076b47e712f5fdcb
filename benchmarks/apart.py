"""What public strata, days of use and alerts cost: ``python -m benchmarks apart``.

Each is measured beside the same without it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import many_windows
from benchmarks.bulk import reports_per_s
from benchmarks.html import command, command_seconds
from benchmarks.results import spread, table, verdict
from client_sdk import Recorded, Telemetry
from client_sdk.protocol import Registry
from client_sdk.protocol.registry.strata import MOST_STRATA
from tests.support.devices.definitions import ACTIVITY, BOOLEAN, registry_text
from tests.support.services.relaying import collector_with_key

ROUNDS: Final = 3
REPORTS_AN_UPLOAD: Final = 4
REPORTS_A_STRATUM: Final = 10_000
DAYS: Final = 100
DAY_S: Final = 86_400
ALERTS: Final = 20

PLATFORMS: Final = tuple(f"p{number}" for number in range(MOST_STRATA))
STRATA: Final = f"[strata]\nplatform = {json.dumps(PLATFORMS)}\n"
QUESTIONS: Final = registry_text(
    plain=BOOLEAN, apart=BOOLEAN | {"strata": ["platform"]}, days_of_use=ACTIVITY, dark_mode=BOOLEAN
).replace("[metric.plain]", f"{STRATA}[metric.plain]", 1)


def measure_apart() -> str:
    """Return the section of the results."""
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name:
        folder = Path(name)
        plain, apart = uploads_per_s(folder)
        reports = report_rows(folder)
        usual, watched = alert_seconds(folder)
    record_ms, active_ms = device_ms("dark_mode"), device_ms("days_of_use")
    longer = median(watched) / median(usual)
    return (
        "## Public strata, days of use and alerts\n\n"
        f"`python -m benchmarks apart`; processor time, median (range) of {ROUNDS}.\n\n"
        + table(
            (f"reports/s of a worker, {REPORTS_AN_UPLOAD} an upload", "median (range)"),
            [["of a question without strata", spread(plain)], ["of one of its strata", spread(apart)]],
        )
        + "\n"
        + table(("`report` of one question in one window, with start-up", "JSON, s", "page, s"), reports)
        + "\n"
        + table(
            (f"a day of a device, {DAYS} days", "ms"),
            [["`record`, an answer", spread(record_ms, 2)], ["`active`, days of use", spread(active_ms, 2)]],
        )
        + "\n"
        + table(
            (f"JSON of 50 questions in {many_windows.WINDOWS} windows", "s"),
            [["without alerts", spread(usual, 2)], [f"with {ALERTS}, in each window", spread(watched, 2)]],
        )
        + "\nReports of a stratum over those without: "
        + verdict(median(apart) >= 0.9 * median(plain), f"{median(apart) / median(plain):.2f}", "≥ 0.9")
        + "\n`active`: "
        + verdict(median(active_ms) <= 1, f"{median(active_ms):.2f} ms", "≤ 1 ms")
        + f"\nJSON with {ALERTS} alerts over that without: "
        + verdict(longer <= 1.1, f"{longer:.2f}", "≤ 1.1")
    )


def uploads_per_s(folder: Path) -> tuple[list[float], list[float]]:
    """Return reports per second of a worker's processor: without strata, and of one stratum."""
    file = folder / "metrics.toml"
    file.write_text(QUESTIONS, encoding="utf-8")
    devices = Registry.parse(QUESTIONS).of({"platform": PLATFORMS[-1]})
    plain, apart = (replace(devices, metrics={name: devices.metric(name)}) for name in ("plain", "apart"))
    with collector_with_key(file, folder) as collector:
        port, pid = int(collector.url.rpartition(":")[2]), collector.worker_pids()[0]
        rounds = [
            [reports_per_s(registry, REPORTS_AN_UPLOAD, port, pid) for registry in (plain, apart)]
            for _ in range(ROUNDS)
        ]
    return [row[0] for row in rounds], [row[1] for row in rounds]


def report_rows(folder: Path) -> list[list[str]]:
    """Return the rows of one question's report times: without strata, with them, of days of use."""
    whole = Registry.parse(QUESTIONS)
    labels = {
        "plain": "a yes or no",
        "apart": f"the same in {MOST_STRATA} strata and the others",
        "days_of_use": "days of use among 7",
    }
    registry, tallies = folder / "metrics.toml", folder / "tallies.ndjson"
    registry.write_text(QUESTIONS, encoding="utf-8")
    base = ["-m", "estimator", "report", "--registry", str(registry), "--tallies", str(tallies)]
    rows = []
    for name, label in labels.items():
        metric = whole.metric(name)
        symbols = metric.channel.symbols
        lines = [
            {"metric": name, "edition": edition, "window": "2026-11-20", "closed": True}
            | {"reports": symbols * (REPORTS_A_STRATUM + place), "counts": [REPORTS_A_STRATUM + place] * symbols}
            for place, edition in enumerate(metric.editions)
        ]
        tallies.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        forms = (["--format", "json", "--output", str(folder / "r.json")], ["--output", str(folder / "r.html")])
        rows.append([label, *(spread(_used_s([*base, *form]), 2) for form in forms)])
    return rows


def alert_seconds(folder: Path) -> tuple[list[float], list[float]]:
    """Return how long the usual JSON takes, without alerts and with some that do not fire."""
    usual = [*command(folder, many_windows.definitions())[1:], "--format", "json", "--output", str(folder / "r.json")]
    alerts = [f"--alert=metric_{number:02}.share[true] > 0.999" for number in range(ALERTS)]
    return _used_s(usual), _used_s([*usual, *alerts])


def device_ms(metric: str) -> list[float]:
    """Return processor milliseconds of each day's answer to a question, without disk waits."""
    now, times_ms = [1_795_176_000.0], []
    registry = Registry.parse(QUESTIONS.replace("lifetime = 400", "lifetime = 4000"))
    with (
        tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder,
        Telemetry(
            replace(registry, metrics={metric: registry.metric(metric)}),
            collector="http://127.0.0.1:9",
            data_dir=Path(folder) / "app",
            consent=True,
            clock=lambda: now[0],
        ) as device,
    ):
        answer: Callable[[], Recorded] = (
            (lambda: device.active(metric)) if metric == "days_of_use" else (lambda: device.record(metric, value=True))
        )
        for _ in range(DAYS):
            started = time.process_time()
            answer()
            times_ms.append((time.process_time() - started) * 1000)
            now[0] += DAY_S
    return times_ms


def _used_s(arguments: Sequence[str]) -> list[float]:
    """Return the processor seconds of each run of Python with arguments."""
    return [command_seconds([sys.executable, *arguments])[1] for _ in range(ROUNDS)]
