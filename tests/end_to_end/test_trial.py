"""A trial from a device to a report: at once, and never among real reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk import Telemetry
from client_sdk.cli import main as hearsay_client
from tests.support.services.processes import READ_TOKEN, RunningCollector, running_collector
from tests.support.services.wire import tallies


def outcome(collector: RunningCollector, registry: Path, *, trial: bool) -> str:
    """Record an answer; return what became of its report."""
    with Telemetry(registry, collector=collector.url, data_dir=None, consent=True, trial=trial) as device:
        device.record("dark_mode", value=True)
        device.flush()
        return "".join(entry.outcome for entry in device.history())


def report(registry: Path, *source: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "estimator", "report", "--registry", str(registry), "--preliminary", *source)
    environment = {"HEARSAY_READ_TOKEN": READ_TOKEN}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.long
def test_reports_of_a_trial_are_seen_at_once_and_counted_nowhere_else(tmp_path: Path) -> None:
    registry, data, lines = tmp_path / "metrics.toml", tmp_path / "data", []
    hearsay_client(["init", "--registry", str(registry)])
    registry.write_text(registry.read_text().replace('strategy = "pace"', ""))
    with running_collector(registry, data, "--trial") as collector:
        for devices in (1, 2):
            assert outcome(collector, registry, trial=True) == "accepted"
            assert [line["reports"] for line in tallies(collector.url, "?preliminary=1")] == [devices]
        assert outcome(collector, registry, trial=False) == "unknown_edition"
        lines += tallies(collector.url, "?preliminary=1")
        shown = report(registry, "--collector", collector.url)
        assert shown.stdout.startswith("A trial: ")
        assert "2 reports" in shown.stdout
    with running_collector(registry, data) as collector:
        assert outcome(collector, registry, trial=True) == "unknown_edition"
        assert outcome(collector, registry, trial=False) == "accepted"
        lines += tallies(collector.url, "?preliminary=1")
        assert "trial" not in report(registry, "--collector", collector.url).stdout
    (tmp_path / "both.ndjson").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    mixed = report(registry, "--tallies", str(tmp_path / "both.ndjson"))
    assert mixed.returncode == 1
    assert "report them separately" in mixed.stderr
    with pytest.raises(RuntimeError, match=r"the store belongs to the app acme-notes \(trial\)"):
        running_collector(registry, data / "trial").__enter__()
