"""The first answer on a new device, on a machine that is busy with everything else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from client_sdk import Recorded
from tests.support.devices.clients import rows

DEVICES = 12

_LOOP = "while True: pass"
_DISK = "import os, sys\nwhile True:\n with open(sys.argv[1], 'wb') as f: f.write(bytes(1 << 20)); os.fsync(f.fileno())"

_FIRST = """
import sys
from pathlib import Path
from tests.support.devices.clients import ScriptedTransport, nothing, telemetry
from tests.unit.client_sdk.answers.test_permanent import asking

for number in range(int(sys.argv[2])):
    with telemetry(Path(sys.argv[1]) / f"plain{number}", transport=ScriptedTransport(nothing)) as device:
        print(device.record("dark_mode", True))
    data_dir = Path(sys.argv[1]) / f"permanent{number}"
    with telemetry(data_dir, registry=asking(3), transport=ScriptedTransport(nothing)) as device:
        print(device.record("m", "a"))
"""


@pytest.fixture
def busy_machine(tmp_path: Path) -> Iterator[None]:
    """Keep every processor and the disk busy."""
    loops = [[sys.executable, "-c", _LOOP]] * (2 * (os.cpu_count() or 1))
    busy = [subprocess.Popen(command) for command in (*loops, [sys.executable, "-c", _DISK, str(tmp_path / "busy")])]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.long
@pytest.mark.usefixtures("busy_machine")
def test_the_first_answers_on_new_devices_are_recorded_on_a_busy_machine(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _FIRST, str(tmp_path), str(DEVICES)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.split()
    assert set(said) <= {Recorded.QUEUED, Recorded.WAITING}
    for device in tmp_path.glob("p*"):
        assert rows(device, "SELECT (SELECT COUNT(*) FROM queue) + (SELECT COUNT(*) FROM uploads)") == [(1,)]
