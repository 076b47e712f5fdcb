"""The collector reads its files again while it serves: only those who wait for the change notice
it.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Self

import pytest
import requests

from client_sdk.protocol import Registry, Report, Upload
from tests.support.services.collecting import OPEN, REGISTRY_TEXT, key_entry, report, today, upload
from tests.support.services.processes import READ_TOKEN, RunningCollector, kill, running_collector, wait_until
from tests.support.services.wire import post, tallies

ADDED = """
[metric.tabs]
purpose = "Are tabs used?"
kind = "boolean"
epsilon = 1
"""
GROWN = Registry.parse(REGISTRY_TEXT + ADDED)
SENDERS = 4
JSON = {"Content-Type": "application/json"}


def about_tabs() -> Upload:
    return upload(Report("tabs", GROWN.metric("tabs").edition, today(), 1))


def accepts_tabs(collector: RunningCollector) -> bool:
    status, verdict = post(collector.url, about_tabs())
    assert status == 200
    return bool(verdict["accepted"])


def served_metrics(collector: RunningCollector) -> list[str]:
    document = requests.get(f"{collector.url}/v1/registry", timeout=30).json()
    return [metric["metric"] for metric in document["metrics"]]


class Load:
    """Sends uploads without a pause and without retries, each on its own connection."""

    def __init__(self, url: str) -> None:
        self.answers: list[object] = []
        self._url = url
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(SENDERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        while not self._over.is_set():
            self.answers.append(post(self._url, upload(report(window=today()))))


@pytest.mark.long
def test_a_new_metric_is_taken_under_load_and_no_request_fails(registry_file: Path, tmp_path: Path) -> None:
    with running_collector(registry_file, tmp_path / "data", "--workers", "2") as collector:
        workers = collector.worker_pids()
        with Load(collector.url) as load:
            wait_until(lambda: len(load.answers) > 50, what="some load")
            assert not accepts_tabs(collector)
            registry_file.write_text(REGISTRY_TEXT + ADDED)
            os.kill(collector.pid, signal.SIGHUP)
            wait_until(lambda: accepts_tabs(collector), what="the new metric")
            registry_file.write_text(REGISTRY_TEXT.partition("[metric.os]")[0] + ADDED)
            os.kill(collector.pid, signal.SIGHUP)
            wait_until(lambda: "metric.os: is being served" in collector.output.read_text(), what="the refusal")
            so_far = len(load.answers)
            wait_until(lambda: len(load.answers) > so_far + 50, what="more load")
        assert all(answer == (200, {"accepted": 1, "refused": []}) for answer in load.answers)
        assert collector.worker_pids() == workers
        wait_until(lambda: served_metrics(collector) == list(GROWN.metrics), what="the other worker")
        counted = {tally["metric"]: tally["reports"] for tally in tallies(collector.url, "?preliminary=1")}
        assert counted["dark_mode"] == len(load.answers)

        # a replacement worker needs no file to serve the same registry as the others
        registry_file.unlink()
        kill(workers[0])
        wait_until(lambda: set(collector.worker_pids()) > {workers[1]}, what="another worker")
        kill(workers[1])
        wait_until(lambda: not set(collector.worker_pids()) & set(workers), what="another worker")
        wait_until(lambda: post(collector.url, about_tabs()) == (200, {"accepted": 1, "refused": []}), what="answers")


def test_a_key_is_replaced_while_the_collector_runs(registry_file: Path, tmp_path: Path) -> None:
    reader = key_entry("dashboard", "read", READ_TOKEN)
    old, new = key_entry("app", "upload", "old-secret"), key_entry("app", "upload", "new-secret")
    access = tmp_path / "access.toml"
    access.write_text(reader + old)
    environment = {"HEARSAY_READ_TOKEN": None}

    def opens(collector: RunningCollector, secret: str) -> bool:
        headers = JSON | {"Authorization": f"Bearer {secret}"}
        body = upload(report(window=today())).encode()
        return requests.post(f"{collector.url}/v1/reports", data=body, headers=headers, timeout=30).status_code == 200

    options = ("--access", str(access))
    with running_collector(registry_file, tmp_path / "data", *options, environment=environment) as collector:
        assert (opens(collector, "old-secret"), opens(collector, "new-secret")) == (True, False)
        access.write_text(reader + old + new)
        wait_until(lambda: opens(collector, "new-secret"), what="the new key")
        assert opens(collector, "old-secret")
        access.write_text("[[key")
        os.kill(collector.pid, signal.SIGHUP)
        wait_until(lambda: "access file was not reloaded" in collector.output.read_text(), what="the refusal")
        access.write_text(reader + new)
        os.kill(collector.pid, signal.SIGHUP)
        wait_until(lambda: not opens(collector, "old-secret"), what="the end of the old key")
        assert opens(collector, "new-secret")
        access.write_text(OPEN + reader)
        os.kill(collector.pid, signal.SIGHUP)
        wait_until(lambda: "restart the collector to open uploads" in collector.output.read_text(), what="the refusal")
        assert (opens(collector, "new-secret"), opens(collector, "old-secret")) == (True, False)
        assert not any(secret in collector.output.read_text() for secret in ("old-secret", "new-secret", READ_TOKEN))
