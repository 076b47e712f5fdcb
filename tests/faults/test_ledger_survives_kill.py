"""A recording process is killed again and again: every charge has its report, and every report its
charge.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from client_sdk import Recorded
from tests.support.devices.clients import many, patient, rows, telemetry

METRICS = 900
"""Fewer than the queue holds, so that none is dropped; more than a process records before it is
killed.
"""

KILLED_AFTER = 20
"""The number of reports that a process announces before it is killed: it is then recording the next
one.
"""

_RECORD = """
import sys
from pathlib import Path
from tests.support.devices.clients import many, telemetry

device = telemetry(Path(sys.argv[1]), registry=many(int(sys.argv[2])))
for number in range(int(sys.argv[3]), int(sys.argv[2])):
    print(number, device.record(f"m{number}", True), flush=True)
"""


def test_a_killed_process_leaves_ledger_and_queue_consistent(tmp_path: Path) -> None:
    data_dir = tmp_path / "app"
    done: list[str] = []
    for begin in range(0, METRICS, METRICS // 3):
        done += record_until_killed(data_dir, begin)
        check(data_dir, done)


def record_until_killed(data_dir: Path, begin: int) -> list[str]:
    """Return the metrics that the process reported as recorded, in order."""
    command = [sys.executable, "-c", _RECORD, str(data_dir), str(METRICS), str(begin)]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.split())
            if len(lines) == KILLED_AFTER:
                process.kill()
    assert {result for _, result in lines} <= {"queued", "waiting"}
    return [f"m{number}" for number, result in lines if result == "queued"]


def check(data_dir: Path, done: list[str]) -> None:
    charged = {metric for (metric,) in rows(data_dir, "SELECT metric FROM charges")}
    queued = [metric for (metric,) in rows(data_dir, "SELECT metric FROM queue")]
    assert len(queued) == len(set(queued))
    assert set(queued) == charged
    assert rows(data_dir, "PRAGMA integrity_check") == [("ok",)]
    with telemetry(data_dir, registry=many(METRICS)) as device:
        assert {patient(device, metric) for metric in done} == {Recorded.ALREADY_RECORDED}
