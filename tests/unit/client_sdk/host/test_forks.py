"""Forking while a thread of the SDK imports: no module's lock is left behind in the child."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from client_sdk import Recorded
from client_sdk.host import forks
from tests.support.devices.clients import in_child, run_python, telemetry

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
"""Forking with threads is what these tests are about."""

_SLOW_MODULE = """
import __main__
__main__.begun.set()
assert __main__.forking.wait(60)
sum(range(3 * 10**7))  # the fork is under way: without a lock it is over long before this
RequestException = Exception
"""

_FORK_DURING_IMPORT = """
import os, signal, sys, threading

begun, forking = threading.Event(), threading.Event()
sys.path.insert(0, sys.argv[1])
from client_sdk.sending.transport import HttpTransport

os.register_at_fork(before=forking.set)  # registered last: it runs before the SDK's own
threading.Thread(target=HttpTransport("https://collector.invalid").post, args=[b""], daemon=True).start()
assert begun.wait(60)
if (pid := os.fork()) == 0:
    signal.alarm(30)
    import requests
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_a_child_that_is_forked_during_an_import_can_import_too(tmp_path: Path) -> None:
    (tmp_path / "requests.py").write_text(_SLOW_MODULE)
    assert run_python(_FORK_DURING_IMPORT, str(tmp_path)) == "7\n"


def test_a_child_that_forks_does_not_wait_for_the_threads_of_its_parent(tmp_path: Path) -> None:
    with telemetry(tmp_path) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED

        def child() -> int:
            forks._before_fork()
            forks._after_fork_in_parent()
            return len(forks._forking.pauses)

        assert in_child(child) == "0"


def test_an_import_that_hangs_hangs_no_fork_and_leaves_the_child_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "IMPORT_DEADLINE_S", 0.01)
    begun, release = threading.Event(), threading.Event()

    def hang() -> None:
        with forks.importing():
            begun.set()
            assert release.wait(60)

    thread = threading.Thread(target=hang)
    thread.start()
    assert begun.wait(60)

    def child() -> bool:
        with forks.importing():
            return True

    assert in_child(child) == "True"
    release.set()
    thread.join()
    with forks.importing():
        assert in_child(child) == "True"
