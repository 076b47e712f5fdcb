"""What a real collector logs about its life; about uploads it logs nothing."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

import pytest

from client_sdk.protocol import Window, WindowKind
from tests.support.services.collecting import report, upload
from tests.support.services.metrics import scrape
from tests.support.services.processes import (
    RunningCollector,
    free_port,
    kill,
    run_command,
    running_collector,
    wait_until,
)
from tests.support.services.wire import post, raw_answer, with_length

FIRST = ["starting", "ready"]


def events(collector: RunningCollector) -> list[str]:
    """Return the events of every line; each must be an object."""
    return [json.loads(line)["event"] for line in collector.output.read_text().splitlines()]


@pytest.mark.long
def test_its_life_is_logged_as_objects_and_uploads_are_not(registry_file: Path, tmp_path: Path) -> None:
    window, data = Window.at(WindowKind.DAY, time.time()).text, tmp_path / "data"
    port = free_port()
    options = ("--log-format", "json", "--metrics-bind", f"127.0.0.1:{port}")
    with running_collector(registry_file, data, *options) as collector:
        wait_until(lambda: events(collector) == FIRST, what="the first lines")
        for _ in range(20):
            assert post(collector.url, upload(report(window=window)))[0] == 200
        open_windows = ("hearsay_windows", ("open",))
        wait_until(lambda: scrape(port)[open_windows] == 1, what="the first look at windows: what it finds is no news")
        assert raw_answer(collector.url, with_length(b"{"))[0] == 400
        assert events(collector) == FIRST
        close = [
            sys.executable,
            "-m",
            "collector",
            "store",
            "close",
            "--yes",
            "--window",
            window,
            "--data-dir",
            str(data),
        ]
        assert run_command(close).returncode == 0
        wait_until(lambda: events(collector)[2:] == ["window_closed", "file_rewritten"], what="the window to be closed")
        kill(collector.worker_pids()[0])
        wait_until(lambda: events(collector)[4:] == ["worker_died"], what="the worker to be missed")
        wait_until(lambda: len(collector.worker_pids()) == 1, what="another worker")
        assert collector.stop() == 0
        assert events(collector)[5:] == ["stopped"]


@pytest.mark.long
def test_a_store_that_is_killed_three_times_is_logged_and_counted_three_times(
    registry_file: Path, tmp_path: Path
) -> None:
    port = free_port()
    options = ("--log-format", "json", "--metrics-bind", f"127.0.0.1:{port}")
    with running_collector(registry_file, tmp_path / "data", *options) as collector:

        def restarts() -> list[str]:
            lines = [json.loads(line) for line in collector.output.read_text().splitlines()]
            return [line["message"] for line in lines if line["event"] == "store_restarted"]

        counter = ("hearsay_store_restarts_total", ())
        assert scrape(port)[counter] == 0
        for killed in (1, 2, 3):
            wait_until(lambda: has_store(collector), what="a store to kill")
            kill(collector.store_pid())
            wait_until(lambda done=killed: len(restarts()) == done, what="the restart to be logged")  # type: ignore[misc]
        assert scrape(port)[counter] == 3
        last_line = (tmp_path / "data" / "store.log").read_text().splitlines()[-1].strip()
        assert restarts()[-1] == (
            "the embedded store ended by signal 9 (SIGKILL) and is being restarted; "
            f"last line of store.log: {last_line}"
        )
        kill(collector.supervisor_pid())
        wait_until(lambda: len(restarts()) == 4, what="the supervisor's end to be logged")
        assert restarts()[-1].startswith("the supervisor of the embedded store ended by signal 9 (SIGKILL)")
        assert scrape(port)[counter] == 4


def has_store(collector: RunningCollector) -> bool:
    """Return whether the store's process exists; between its end and its start it does not."""
    try:
        return collector.store_pid() > 0
    except StopIteration:
        return False


@pytest.mark.long
def test_a_store_that_goes_and_comes_is_logged_once_each(registry_file: Path, tmp_path: Path) -> None:
    with running_collector(registry_file, tmp_path / "data", "--log-format", "json") as collector:

        def store_was_missed() -> bool:
            with contextlib.suppress(StopIteration):  # it has ended already
                kill(collector.store_pid())
            return "store_down" in events(collector)

        wait_until(store_was_missed, what="the store to be missed")
        wait_until(lambda: "store_up" in events(collector), what="the store to be back")
        seen = [event for event in events(collector) if event in {"store_down", "store_up"}]
        assert seen == ["store_down", "store_up"]


def test_a_collector_that_refuses_everything_for_its_windows_suspects_its_own_clock_and_says_so_by_name(
    registry_file: Path, tmp_path: Path
) -> None:
    port, today = free_port(), Window.at(WindowKind.DAY, time.time()).text
    suspected = ("hearsay_clock_suspected", ())
    with running_collector(registry_file, tmp_path / "data", "--metrics-bind", f"127.0.0.1:{port}") as collector:
        assert post(collector.url, upload(*[report(window="2999-01-01")] * 100))[0] == 200
        wait_until(lambda: scrape(port)[suspected] == 1, what="a suspicion")
        assert post(collector.url, upload(report(window=today)))[0] == 200
        wait_until(lambda: scrape(port)[suspected] == 0, what="the end of the suspicion")
        wait_until(lambda: "clock_trusted: " in collector.output.read_text(), what="a line of the log")
        assert collector.output.read_text().count("WARNING clock_suspected: this host's clock may be behind") == 1
