"""What an acknowledgement means when parts are killed under load: `Load` is the oracle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from client_sdk.protocol import Window, WindowKind
from tests.support.services.collecting import report, upload
from tests.support.services.delivering import Load
from tests.support.services.processes import (
    RunningCollector,
    free_port,
    is_running,
    kill,
    running_collector,
    wait_until,
)
from tests.support.services.small_disks import fill
from tests.support.services.wire import post, tallies

SENDERS = 8
UPLOADS_EACH = 100
MOST_UPLOADS_EACH = 100_000


def kill_worker(collector: RunningCollector) -> None:
    kill(collector.worker_pids()[0])


def kill_worker_and_await_another(collector: RunningCollector) -> None:
    before = set(collector.worker_pids())
    kill_worker(collector)
    wait_until(lambda: bool(set(collector.worker_pids()) - before), what="another worker")


def kill_store(collector: RunningCollector) -> None:
    kill(collector.store_pid())


def kill_supervisor(collector: RunningCollector) -> None:
    kill(collector.supervisor_pid())


@pytest.mark.long
@pytest.mark.parametrize("fault", [kill_worker, kill_store, kill_supervisor])
def test_nothing_acknowledged_is_lost_and_nothing_counted_twice_when_a_part_is_killed(
    fault: Callable[[RunningCollector], None], registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data", "--workers", "2") as collector:
        load = Load(collector.url, SENDERS, UPLOADS_EACH)
        load.wait_for(SENDERS * UPLOADS_EACH // 4)
        fault(collector)
        load.wait()
        counted = [sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1")]
        assert sum(counted) == SENDERS * UPLOADS_EACH


def test_sixteen_threads_with_one_upload_count_it_once_and_a_store_that_is_down_gets_503_and_is_started_again(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data", "--workers", "2", "--threads", "8") as collector:
        window = Window.at(WindowKind.DAY, time.time()).text
        body = upload(report("os", 1, window))
        answers: list[object] = []
        barrier = threading.Barrier(16)

        def deliver() -> None:
            barrier.wait()
            answers.append(post(collector.url, body))

        threads = [threading.Thread(target=deliver) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [(200, {"accepted": 1, "refused": []})] * 16
        assert [tally["counts"] for tally in tallies(collector.url, "?preliminary=1")] == [[0, 1, 0, 0]]
        statuses: set[int] = set()

        def answered_503() -> bool:
            kill_store(collector)
            statuses.add(post(collector.url, upload(report(window=window)))[0])
            return 503 in statuses

        wait_until(answered_503, what="a 503")
        assert statuses <= {200, 503}
        wait_until(lambda: post(collector.url, upload(report(window=window)))[0] == 200, what="the store to be back")


@pytest.mark.long
def test_workers_that_die_again_and_again_are_replaced(registry_file: Path, tmp_path: Path) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        window = Window.at(WindowKind.DAY, time.time()).text
        for _ in range(3):
            kill_worker_and_await_another(collector)
        wait_until(lambda: post(collector.url, upload(report(window=window)))[0] == 200, what="an acknowledgement")


@pytest.mark.long
def test_a_worker_that_dies_while_the_store_and_the_registry_are_away_is_replaced(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data", "--workers", "2") as collector:
        window = Window.at(WindowKind.DAY, time.time()).text
        registry_file.unlink()
        kill_store(collector)
        kill_worker(collector)
        wait_until(lambda: len(collector.worker_pids()) == 2, what="two workers")
        wait_until(lambda: post(collector.url, upload(report(window=window)))[0] == 200, what="an acknowledgement")


@pytest.mark.system
def test_a_full_disk_gets_503_and_what_was_acknowledged_is_there_when_it_has_room_again(
    small_disk: Path, registry_file: Path
) -> None:
    with running_collector(registry_file, small_disk / "data") as collector:
        load = Load(collector.url, SENDERS, MOST_UPLOADS_EACH)
        load.wait_for(SENDERS)
        ballast = fill(small_disk, spare=65_536)
        wait_until(lambda: load.statuses[503] > SENDERS, what="503s")
        ballast.unlink()
        load.wait_for(load.acknowledged + SENDERS)
        load.end()
        counted = [sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1")]
        assert sum(counted) == load.acknowledged


@pytest.mark.long
@pytest.mark.parametrize("folder", ["data", "d" * 100], ids=["short", "too long for a socket"])
def test_a_collector_that_is_killed_with_all_its_processes_leaves_nothing_outside_its_data_directory(
    registry_file: Path, folder: str, short_folder: Path
) -> None:
    temporary, data = short_folder / "tmp", short_folder / folder
    temporary.mkdir()
    environment, metrics = {"TMPDIR": str(temporary)}, ("--metrics-bind", f"127.0.0.1:{free_port()}")
    with running_collector(registry_file, data, *metrics, environment=environment) as collector:
        doomed = (collector.supervisor_pid(), collector.store_pid(), *collector.worker_pids())
        for pid in (collector.pid, *doomed):
            kill(pid)
        collector.process.wait()
        wait_until(lambda: not any(map(is_running, doomed)), what="the last of them to end")
    if folder == "data":
        assert list(temporary.iterdir()) == []
    with running_collector(registry_file, data, *metrics, environment=environment) as collector:
        assert len(list(temporary.iterdir())) == (folder != "data")
        assert collector.stop() == 0
    assert list(temporary.iterdir()) == []
