"""The servers that tests start end with the tests, even if those are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
