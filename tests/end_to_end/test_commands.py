"""An app of short commands: its reports arrive although no command lives for long."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from client_sdk.host import detached
from client_sdk.ledger.file import FILE_NAME
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.sending import helper
from client_sdk.sending.helper import LOCK_SUFFIX
from tests.support.devices.clients import rows
from tests.support.devices.commands import NO_COLLECTOR
from tests.support.services.counting import counting
from tests.support.services.processes import wait_until

DEVICES = 20
LONG_AGO_S = -2 * SPREAD_S
"""By this clock the instant of every report is over."""

COMMAND_S = 0.5
"""How much more processor time a command may take with telemetry than without: a busy machine does
not change it."""


def run(data_dir: Path, collector: str, sender: str, ahead_s: float, command: str) -> float:
    """Run one command of the app to its end; return its seconds of processor time."""
    arguments = [sys.executable, "-m", "tests.support.devices.commands", str(data_dir), collector, sender]
    before_s = _processor_s()
    subprocess.run([*arguments, str(ahead_s), command], check=True, capture_output=True, timeout=120)
    return _processor_s() - before_s


def _processor_s() -> float:
    """Return the processor time of all child processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.long
def test_twenty_devices_deliver_every_report_by_a_helper_and_none_twice(tmp_path: Path) -> None:
    with counting() as collector:
        without = [run(tmp_path, NO_COLLECTOR, "process", 0, "add") for _ in range(5)]
        with_telemetry = [
            run(tmp_path / str(device), collector.url, "process", LONG_AGO_S, "add") for device in range(DEVICES)
        ]
        assert median(with_telemetry) < median(without) + COMMAND_S
        wait_until(lambda: len(collector.reports) == DEVICES, what="all reports")
        for device in range(DEVICES):
            wait_until(lambda device=device: settled(tmp_path / str(device)), what="its end")  # type: ignore[misc] # a bound loop variable
        assert Counter(report.metric for report in collector.reports) == {"added": DEVICES}
        assert len(collector.uploads) == DEVICES


def settled(data_dir: Path) -> bool:
    """Whether every report of a device was accepted."""
    return rows(data_dir, "SELECT outcome FROM history") == [("accepted",)]


def test_without_a_helper_the_next_command_sends_what_the_one_before_left(tmp_path: Path) -> None:
    with counting() as collector:
        run(tmp_path, collector.url, "thread", LONG_AGO_S, "add")
        assert collector.uploads == []
        sent = 0
        while not collector.reports:  # a command may end before its request has begun
            run(tmp_path, collector.url, "thread", sent * SPREAD_S, "remove")
            sent += 2
            assert sent < 100
        assert [report.metric for report in collector.reports] == ["added"]


def test_one_helper_at_a_time_works_on_a_ledger_and_its_lock_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    lock = path.with_name(FILE_NAME + LOCK_SUFFIX)
    with counting() as collector:
        run(tmp_path, collector.url, "thread", LONG_AGO_S, "add")
        with detached.alone(lock) as held:
            assert held is not None
            run(tmp_path, collector.url, "process", LONG_AGO_S, "add")
            helper.main(str(path), "acme", collector.url, None, allow_plain_http=False)
            assert collector.uploads == []
        helper.main(str(path), "acme", collector.url, None, allow_plain_http=False)
        assert [report.metric for report in collector.reports] == ["added"]
    assert lock.read_bytes() == b""
