"""The supervisor, here of programs that are no store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from collector.embedded import supervisor
from tests.support.services.processes import children, command_line, wait_until


def test_a_store_that_has_no_signal_handler_yet_ends_at_once_with_its_collector(tmp_path: Path) -> None:
    reading_end, lifeline = os.pipe()
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    command = [sys.executable, "-I", supervisor.__file__, str(reading_end), str(lock), str(tmp_path / "run")]
    guardian = subprocess.Popen([*command, "sleep", "600"], pass_fds=(reading_end, lock), stdout=subprocess.DEVNULL)
    wait_until(lambda: any("sleep" in command_line(pid) for pid in children(guardian.pid)), what="the store to start")
    os.close(lifeline)
    assert guardian.wait(supervisor.STOP_TIMEOUT_S - 2) == 0
    os.close(reading_end)
    os.close(lock)
