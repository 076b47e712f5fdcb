"""A job that is killed while it writes leaves whole windows only, and the next run finishes what is
missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from client_sdk.protocol.command_line import ExitStatus
from tests.support.estimates.tallies import REGISTRY, REGISTRY_TEXT
from tests.support.services.processes import START_DEADLINE_S, wait_until

WINDOWS = [(date(2024, 9, 1) + timedelta(day)).isoformat() for day in range(40)]


def tally(metric: str, window: str) -> str:
    definition = REGISTRY.metric(metric)
    counts = [30 + symbol for symbol in range(definition.channel.symbols)]
    about = {"metric": metric, "edition": definition.edition, "window": window, "closed": True}
    return json.dumps(about | {"reports": sum(counts), "counts": counts}) + "\n"


def job(folder: Path) -> subprocess.Popen[bytes]:
    places = ("--registry", folder / "metrics.toml", "--tallies", folder / "tallies.ndjson")
    words = ("archive", folder / "reports", *places)
    return subprocess.Popen(
        [sys.executable, "-m", "estimator", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.mark.long
def test_a_killed_job_leaves_whole_windows_and_the_next_one_finishes(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    (tmp_path / "tallies.ndjson").write_text(
        "".join(tally(name, window) for window in WINDOWS for name in REGISTRY.metrics)
    )
    reports = tmp_path / "reports"

    def finished() -> set[str]:
        return {path.parent.name for path in reports.glob("[0-9]*/report.json")}

    killed = job(tmp_path)
    try:
        wait_until(lambda: bool(finished()) or killed.poll() is not None, what="the first window")
    finally:
        killed.kill()
        killed.wait()
    before = {window: sorted(path.name for path in (reports / window).iterdir()) for window in finished()}
    assert 0 < len(before) < len(WINDOWS)
    assert not (reports / "index.json").exists()

    assert job(tmp_path).wait(START_DEADLINE_S) == ExitStatus.DONE
    assert finished() == set(WINDOWS)
    whole = sorted(path.name for path in (reports / WINDOWS[-1]).iterdir())
    assert all(files == whole for files in before.values())
    assert not list(reports.glob(".part-*"))
    assert len(json.loads((reports / "index.json").read_text())["windows"]) == len(WINDOWS)
