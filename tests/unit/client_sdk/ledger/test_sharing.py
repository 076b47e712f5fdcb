"""One ledger shared by threads, processes and children: one report, one charge, no loss."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from client_sdk import Recorded
from client_sdk.host import forks
from client_sdk.ledger.thread import LedgerThread
from tests.support.devices.clients import ask, in_child, many, patient, rows, telemetry

THREADS, PROCESSES, COUNTED = 8, 4, 15

SHARED = ask(
    '[metric.taps]\nkind = "count"\nmax = 1000\nstatistic = "mean"\npersist = true\n'
    '[metric.filled]\nkind = "boolean"\nfill_in = true\n'
    '[metric.lasting]\nkind = "category"\nvalues = ["a", "b", "c", "d"]\npermanent_epsilon = 1.5'
)

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
"""Forking with threads is what these tests are about."""

_PROCESS = f"""
import sys, threading
from pathlib import Path
from client_sdk import Recorded
from tests.support.devices.clients import telemetry

results = []
begin = threading.Barrier({THREADS})

def work(device):
    begin.wait()
    recorded = Recorded.BUSY
    while recorded in (Recorded.BUSY, Recorded.WAITING):
        recorded = device.record("dark_mode", value=True)
    results.append(recorded)

with telemetry(Path(sys.argv[1])) as device:
    threads = [threading.Thread(target=work, args=[device]) for _ in range({THREADS})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(*results)
"""


def counts(data_dir: Path) -> tuple[int, int]:
    """Return the charges and the waiting reports."""
    ((pair),) = rows(data_dir, "SELECT (SELECT COUNT(*) FROM charges), (SELECT COUNT(*) FROM queue)")
    return pair


@pytest.mark.slow
def test_threads_and_processes_that_record_at_once_make_one_report_and_one_charge(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROCESS, str(tmp_path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    results = " ".join([process.communicate(timeout=120)[0] for process in processes]).split()
    assert [process.returncode for process in processes] == [0] * PROCESSES
    assert len(results) == THREADS * PROCESSES
    # A commit that takes longer than its caller waits is reported as busy once, and then succeeds.
    assert results.count("queued") <= 1
    assert set(results) <= {"queued", "already_recorded"}
    assert counts(tmp_path) == (1, 1)


def test_a_forked_child_records_in_the_same_file_and_the_parent_continues(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=many(9)) as device:
        assert patient(device, "m0") is Recorded.QUEUED
        assert in_child(lambda: patient(device, "m1")) == "queued"
        assert in_child(lambda: patient(device, "m1")) == "already_recorded"
        assert patient(device, "m2") is Recorded.QUEUED
        assert patient(device, "m1") is Recorded.ALREADY_RECORDED
    assert counts(tmp_path) == (3, 3)


def test_what_a_child_records_survives_the_parents_end(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with telemetry(tmp_path, registry=many(9)) as device:
        patient(device, "m0")
        pid = os.fork()
        if pid == 0:
            patient(device, "m1")
            os.close(writer)
            os.read(reader, 1)
            patient(device, "m2")
            os._exit(0)
        patient(device, "m3")
    os.close(reader)
    os.close(writer)
    assert os.waitpid(pid, 0)[1] == 0
    assert counts(tmp_path) == (4, 4)


def test_a_grandchild_records_too(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=many(9)) as device:
        patient(device, "m0")

        def child() -> str:
            patient(device, "m1")
            return in_child(lambda: patient(device, "m2"))

        assert in_child(child) == "queued"
        assert patient(device, "m2") is Recorded.ALREADY_RECORDED


@pytest.mark.slow
def test_a_process_that_forks_while_others_record_loses_nothing(tmp_path: Path) -> None:
    stop = threading.Event()
    recorded: list[Recorded] = []

    with telemetry(tmp_path, registry=many(1010)) as device:

        def record() -> None:
            for number in range(1000):
                if stop.is_set():
                    break
                recorded.append(patient(device, f"m{number}"))

        thread = threading.Thread(target=record)
        thread.start()
        children = [in_child(partial(patient, device, f"m{number}")) for number in range(1000, 1010)]
        stop.set()
        thread.join()
    assert children == ["queued"] * len(children)
    ((charges,),) = rows(tmp_path, "SELECT COUNT(*) FROM charges")
    assert charges == len(recorded) + len(children)
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


def test_a_child_that_inherited_an_open_file_does_not_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with telemetry(tmp_path) as device:
        patient(device, "dark_mode")
        monkeypatch.setattr(
            LedgerThread, "pause", lambda *_: None
        )  # as when a disk hangs, or when Python does not learn of the fork
        monkeypatch.setattr(forks, "PAUSE_DEADLINE_S", 0.0)

        def child() -> str:
            return f"{device.record('sound', value=True)}: {device.problem}"

        assert "unavailable: " in (answer := in_child(child))
        assert "was open when this process was forked; start processes with spawn" in answer
        monkeypatch.undo()
        assert patient(device, "sound") is Recorded.QUEUED


def test_a_child_that_gets_the_process_id_of_an_ancestor_records_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    with telemetry(tmp_path, registry=many(9)) as device:
        patient(device, "m0")
        assert in_child(lambda: patient(device, "m1")) == "queued"
        assert patient(device, "m1") is Recorded.ALREADY_RECORDED
    with telemetry(None) as device:
        device.record("dark_mode", value=True)
        assert in_child(lambda: device.record("sound", value=True)) == "unavailable"


def test_a_ledger_in_memory_gives_a_child_no_budget_of_its_own() -> None:
    with telemetry(None) as device:
        device.record("dark_mode", value=True)

        def child() -> str:
            return f"{device.record('sound', value=True)}: {device.problem}"

        assert in_child(child).startswith("unavailable: a ledger in memory belongs to one process")
        assert device.record("sound", value=True) is Recorded.QUEUED


def test_a_closed_one_is_closed_in_a_child_too(tmp_path: Path) -> None:
    device = telemetry(tmp_path)
    device.close()
    assert in_child(lambda: device.record("dark_mode", value=True)) == "closed"


def test_two_of_them_in_one_process_share_a_file(tmp_path: Path) -> None:
    with telemetry(tmp_path) as first, telemetry(tmp_path) as second:
        assert patient(first, "dark_mode") is Recorded.QUEUED
        assert patient(second, "dark_mode") is Recorded.ALREADY_RECORDED
        assert in_child(lambda: patient(second, "sound")) == "queued"
        assert patient(first, "sound") is Recorded.ALREADY_RECORDED


def test_forgetting_holds_while_another_one_has_the_file_open(tmp_path: Path) -> None:
    with telemetry(tmp_path) as first, telemetry(tmp_path) as second:
        patient(first, "dark_mode")
        assert patient(second, "dark_mode") is Recorded.ALREADY_RECORDED
        first.forget()
        assert counts(tmp_path) == (1, 0)
        assert patient(second, "dark_mode") is Recorded.UNAVAILABLE
        assert "opted out" in (second.problem or "")


_COUNT_AND_CHANGE = f"""
import sys
from pathlib import Path
from client_sdk import Recorded, recorder
from tests.support.devices.clients import telemetry
from tests.unit.client_sdk.ledger.test_sharing import SHARED

recorder.RECORD_DEADLINE_S = recorder.SECRET_DEADLINE_S = 60.0  # busy then means: not done

def surely(work, *arguments):
    recorded = Recorded.BUSY
    while recorded in (Recorded.BUSY, Recorded.WAITING):
        recorded = work(*arguments)
    return recorded

with telemetry(Path(sys.argv[1]), registry=SHARED) as device:
    for number in range({COUNTED}):
        assert surely(device.count, "taps", 1) is Recorded.COUNTED
    print(surely(device.record, "lasting", sys.argv[2]))
"""


@pytest.mark.slow
def test_processes_that_share_a_file_add_up_to_one_count_one_report_and_one_slot(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", _COUNT_AND_CHANGE, str(tmp_path), "abcd"[number]] for number in range(PROCESSES)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    results = " ".join([process.communicate(timeout=120)[0] for process in processes]).split()
    assert sorted(results) == ["already_recorded"] * (PROCESSES - 1) + ["queued"]
    assert rows(tmp_path, "SELECT count FROM counts") == [(PROCESSES * COUNTED,)]
    assert rows(tmp_path, "SELECT COUNT(*), SUM(nanos) FROM charges WHERE metric = 'lasting'") == [
        (1, SHARED.metric("lasting").epsilon_nanos)
    ]
    assert rows(tmp_path, "SELECT COUNT(*) FROM charges WHERE metric = 'filled'") == [(1,)]
    assert rows(tmp_path, "SELECT COUNT(*) FROM slots") == [(1,)]
