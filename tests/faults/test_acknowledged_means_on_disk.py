"""No acknowledgement leaves the store before the write that it speaks of is on disk.

kill -9 cannot show a missing fsync, for the page cache survives it: so the store's system calls are traced.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from collector.embedded import EmbeddedStore
from collector.redis_store import RedisStore
from tests.support.collecting import judged, report, upload
from tests.support.processes import children, wait_until

UPLOADS = 20

TRACED = "read,write,writev,sendto,fsync,fdatasync"


@pytest.fixture(scope="session")
def strace() -> str:
    """The tracer; installed where it is missing and can be."""
    if shutil.which("strace") is None:
        assert os.geteuid() == 0, "this test needs the Debian package strace: install it"
        for step in (("update", "-q"), ("install", "-y", "-q", "strace")):
            subprocess.run(["apt-get", *step], check=True)  # noqa: S607 wherever this Debian keeps it
    found = shutil.which("strace")
    assert found is not None
    return found


def server_on(data_dir: Path) -> int:
    """Return the process of the store on a data directory, which is its working directory."""
    grandchildren = (pid for guardian in children(os.getpid()) for pid in children(guardian))
    return next(pid for pid in grandchildren if Path(f"/proc/{pid}/cwd").resolve() == data_dir)


def test_every_acknowledgement_follows_the_fdatasync_of_its_write(tmp_path: Path, strace: str) -> None:
    trace = tmp_path / "trace"
    with EmbeddedStore(tmp_path / "data") as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        store.count(judged(upload()))
        server = server_on(tmp_path / "data")
        tracer = subprocess.Popen(
            [strace, "-f", "-o", str(trace), "-s", "64", "-y", "-p", str(server), "-e", f"trace={TRACED}"],
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{server}/status").read_text(), what="the tracer")
        for _ in range(UPLOADS):
            store.count(judged(upload(report("os", 2))))
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        store.disconnect()
    check_order(trace.read_text())


def check_order(trace: str) -> None:
    """Assert that between each command read and its answer the log was written and synced, in that order."""
    state, answers = "idle", 0
    for call in trace.splitlines():
        if re.search(r" read\(\d+<[^>]*>, \"\*\d+\\r\\n\$7\\r\\nEVALSHA", call):
            state = "asked"
        elif re.search(r" write\(\d+<[^>]*\.aof>", call) and state == "asked":
            state = "written"
        elif re.search(r" (fdatasync|fsync)\(\d+<[^>]*\.aof>\)\s+= 0", call) and state == "written":
            state = "on disk"
        elif re.search(r" (write|writev|sendto)\(\d+<(socket|UNIX)[^>]*>, ", call):
            assert state in ("on disk", "idle"), f"answered while only {state}: {call}"
            answers += state == "on disk"
            state = "idle"
    assert answers == UPLOADS


@pytest.mark.parametrize("missing", ["fdatasync", "write"])
def test_the_check_refuses_a_store_that_answers_too_early(missing: str) -> None:
    calls = [
        '1 read(8<socket:[1]>, "*9\\r\\n$7\\r\\nEVALSHA\\r\\n", 16384) = 9',
        '1 write(9</data/x.incr.aof>, "x", 1) = 1',
        "1 fdatasync(9</data/x.incr.aof>) = 0",
        '1 write(8<socket:[1]>, "$1", 2) = 2',
    ]
    check_order_of_one = "\n".join(calls * UPLOADS)
    check_order(check_order_of_one)
    with pytest.raises(AssertionError, match="answered while only"):
        check_order("\n".join(call for call in calls if f" {missing}(9" not in call))
