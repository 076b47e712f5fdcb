"""What tests start and mount ends with them, even if they are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services.processes import is_running, kill, wait_until

TESTS = """
import sys
from pathlib import Path
from tests.support.services.cluster import Node
from tests.support.services.processes import free_port

node = Node(Path(sys.argv[1]), free_port())
node.start()
print(node.pid, flush=True)
sys.stdin.read()
"""


def test_a_node_of_a_cluster_ends_with_tests_that_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TESTS, str(tmp_path / "node")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:
        assert tests.stdout is not None
        node = int(tests.stdout.readline())
        assert is_running(node)
        kill(tests.pid)
    wait_until(lambda: not is_running(node), what="the node to end")


MOUNTING = """
import sys
from pathlib import Path
from tests.support.services.small_disks import mounted

with mounted(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.system
def test_a_small_disk_is_mounted_for_those_tests_alone_and_ends_with_them(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    command = [sys.executable, "-c", MOUNTING, str(disk)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:
        assert tests.stdout is not None
        tests.stdout.readline()
        assert str(disk) in Path(f"/proc/{tests.pid}/mounts").read_text(encoding="utf-8")
        assert not disk.is_mount()
        kill(tests.pid)
    disk.rmdir()
