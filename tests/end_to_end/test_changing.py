"""A question changes while apps of two releases report: both count, and both are told of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from client_sdk import Registry, Telemetry
from client_sdk.cli import main as hearsay_client
from client_sdk.protocol import Report, Window, WindowKind
from tests.support.services.collecting import upload
from tests.support.services.processes import READ_TOKEN, RunningCollector, running_collector, wait_until
from tests.support.services.wire import post, tallies

BEFORE = """
schema = 1
app.name = "acme-notes"
budget = { per_window = 9, lifetime = 99, accept = "It exists in tests only." }
[metric.theme]
purpose = "Which theme is used?"
kind = "category"
values = ["light", "dark"]
epsilon = 2
[metric.ruler]
purpose = "Is the ruler shown?"
kind = "boolean"
epsilon = 1
"""
AFTER = BEFORE.replace('"dark"]', '"dark", "auto"]').partition("[metric.ruler]")[0]
OLD, NEW = Registry.parse(BEFORE), Registry.parse(AFTER)
DEVICES = 200
THEME, RULER = (f"{name}[edition={OLD.metric(name).edition}]" for name in ("theme", "ruler"))


def sends(collector: RunningCollector, registry: Registry, symbol: int, window: str) -> object:
    """Send a report of each question, as an app of a release does."""
    reports = (Report(name, metric.edition, window, symbol) for name, metric in registry.metrics.items())
    return post(collector.url, upload(*reports))


def reload(collector: RunningCollector) -> None:
    os.kill(collector.pid, signal.SIGHUP)


def estimated(registry: Path, folder: Path, lines: Sequence[object]) -> dict[str, dict[str, object]]:
    file = folder / "tallies.ndjson"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    command = (sys.executable, "-m", "estimator", "report", "--registry", str(registry), "--tallies", str(file))
    done = subprocess.run([*command, "--preliminary", "--format", "json"], capture_output=True, text=True, check=True)
    return {metric["metric"]: metric for metric in json.loads(done.stdout)["metrics"]}


@pytest.mark.long
def test_a_value_is_added_while_old_and_new_apps_report_and_no_report_is_lost(tmp_path: Path) -> None:
    registry, window = tmp_path / "metrics.toml", Window.at(WindowKind.DAY, time.time()).text
    registry.write_text(BEFORE)
    accepted = [(200, {"accepted": len(each.metrics), "refused": []}) for each in (OLD, NEW)]
    with running_collector(registry, tmp_path / "data") as collector:
        assert sends(collector, NEW, 1, window) == (
            200,
            {"accepted": 0, "refused": [{"index": 0, "code": "unknown_edition"}]},
        )
        for _ in range(DEVICES):
            assert sends(collector, OLD, 1, window) == accepted[0]

        registry.write_text(AFTER)  # in a hurry, without its history
        reload(collector)
        wait_until(lambda: "metric.theme: is being served" in collector.output.read_text(), what="the refusal")
        assert "hearsay-client release" in collector.output.read_text()
        assert sends(collector, OLD, 1, window) == accepted[0]

        registry.write_text(BEFORE)
        assert hearsay_client(["release", "--registry", str(registry)]) == 0
        registry.write_text(AFTER)
        reload(collector)
        wait_until(lambda: sends(collector, NEW, 1, window) == accepted[1], what="the new edition")
        for _ in range(DEVICES):
            assert sends(collector, OLD, 1, window) == accepted[0]
            assert sends(collector, NEW, 1, window) == accepted[1]

        with Telemetry(OLD, collector=collector.url, data_dir=tmp_path / "device", consent=True) as app:
            app.record("theme", "dark")  # an app of the old release goes on
            assert app.problem is None
        counted = tallies(collector.url, "?preliminary=1")

    # a restart keeps both, refuses to go on without the history, and says how to all the same
    history = registry.with_name("metrics.history.toml")
    kept = history.read_bytes()
    with running_collector(registry, tmp_path / "data") as collector:
        assert sends(collector, OLD, 0, window) == accepted[0]
    history.unlink()
    words = (sys.executable, "-m", "collector", "serve", "--registry", str(registry), "--bind", "127.0.0.1:1")
    refused = subprocess.run(
        [*words, "--data-dir", str(tmp_path / "data")],
        env=os.environ | {"HEARSAY_READ_TOKEN": READ_TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert f"theme:{OLD.metric('theme').edition}" in refused.stderr
    assert "--allow-unknown-editions" in refused.stderr
    with running_collector(registry, tmp_path / "data", "--allow-unknown-editions") as collector:
        code = {"index": 0, "code": "former_edition"}
        answer = sends(collector, OLD, 0, window)
        assert answer == (200, {"accepted": 0, "refused": [code, code | {"index": 1}]})
        assert sends(collector, NEW, 0, window) == accepted[1]

    history.write_bytes(kept)
    report = estimated(registry, tmp_path, counted)
    assert set(report) == {"theme", THEME, RULER}
    assert report["theme"]["reports"] == DEVICES + 1
    assert report[THEME]["reports"] == 2 * DEVICES + 1
    assert report[RULER]["reports"] == 2 * DEVICES + 1
