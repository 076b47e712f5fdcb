"""No acknowledgement leaves the store before its write is on disk, there and at the replica.

kill -9 cannot show a missing fsync, for the page cache survives it. So the servers' system calls
are traced.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.embedded.store import EmbeddedStore
from collector.required_settings import Durability, Promise
from collector.store.redis_store import RedisStore
from collector.store.store_protocol import CountedUpload
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import judged, of_shard, report, upload
from tests.support.services.processes import children, wait_until
from tests.support.services.programs import program

pytestmark = pytest.mark.system

UPLOADS = 20

TRACED = "read,write,writev,sendto,fsync,fdatasync"

COMMAND_READ = r" read\(\d+<[^>]*>, \"\*\d+\\r\\n\$7\\r\\nEVALSHA"
LOG_WRITTEN = r" write\(\d+<[^>]*\.aof>"
LOG_SYNCED = r" (fdatasync|fsync)\(\d+<[^>]*\.aof>\)\s+= 0"
ANSWERED = r" (write|writev|sendto)\(\d+<(socket|UNIX|TCP)[^>]*>, "
COPIES_REPORTED = ANSWERED + r"\"\*2\\r\\n:1\\r\\n:1\\r\\n"


@pytest.fixture(scope="session")
def strace() -> str:
    """The tracer."""
    return program("strace")


def server_on(data_dir: Path) -> int:
    """Return the process of the store on a data directory, which is its working directory."""
    grandchildren = (pid for guardian in children(os.getpid()) for pid in children(guardian))
    return next(pid for pid in grandchildren if Path(f"/proc/{pid}/cwd").resolve() == data_dir)


@contextlib.contextmanager
def traced(strace: str, server: int, trace: Path) -> Iterator[None]:
    """While the context is entered, write a server's system calls to a file: the beginning and the
    duration of each.
    """
    tracer = subprocess.Popen(
        [strace, "-f", "-ttt", "-T", "-o", str(trace), "-s", "64", "-y", "-p", str(server), "-e", f"trace={TRACED}"],
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{server}/status").read_text(), what="the tracer")
    yield
    tracer.send_signal(signal.SIGINT)
    tracer.wait()


def test_every_acknowledgement_follows_the_fdatasync_of_its_write(tmp_path: Path, strace: str) -> None:
    trace = tmp_path / "trace"
    with EmbeddedStore(tmp_path / "data") as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        store.count(judged(upload()))
        sent = [judged(upload(report("os", 2))) for _ in range(UPLOADS)]
        with traced(strace, server_on(tmp_path / "data"), trace):
            assert [store.count(body).is_duplicate for body in sent * 2] == [False] * UPLOADS + [True] * UPLOADS
        assert answers_on_disk(trace.read_text()) == 2 * UPLOADS
        with traced(strace, server_on(tmp_path / "data"), trace):
            outcomes = store.count_all([judged(upload(report("os", 2))) for _ in sent])
        assert {type(outcome) for outcome in outcomes} == {CountedUpload}
        assert answers_on_disk(trace.read_text()) > 0
        store.disconnect()


def answers_on_disk(trace: str) -> int:
    """Assert that the log was written and synced between each command and its answer; return the
    number of answers.
    """
    state, answers = "idle", 0
    for call in trace.splitlines():
        if re.search(COMMAND_READ, call):
            state = "asked"
        elif re.search(LOG_WRITTEN, call) and state == "asked":
            state = "written"
        elif re.search(LOG_SYNCED, call) and state == "written":
            state = "on disk"
        elif re.search(ANSWERED, call):
            assert state in ("on disk", "idle"), f"answered while only {state}: {call}"
            answers += state == "on disk"
            state = "idle"
    return answers


@pytest.mark.parametrize("missing", ["fdatasync", "write"])
def test_the_check_refuses_a_store_that_answers_too_early(missing: str) -> None:
    calls = [
        '1 read(8<socket:[1]>, "*9\\r\\n$7\\r\\nEVALSHA\\r\\n", 16384) = 9',
        '1 write(9</data/x.incr.aof>, "x", 1) = 1',
        "1 fdatasync(9</data/x.incr.aof>) = 0",
        '1 write(8<socket:[1]>, "$1", 2) = 2',
    ]
    assert answers_on_disk("\n".join(calls * UPLOADS)) == UPLOADS
    with pytest.raises(AssertionError, match="answered while only"):
        answers_on_disk("\n".join(call for call in calls if f" {missing}(9" not in call))


def test_every_acknowledgement_of_a_replicated_store_follows_the_fdatasync_of_the_replica(
    cluster: Cluster, tmp_path: Path, strace: str
) -> None:
    cluster.wait_until_healthy()
    cluster.empty()
    store = RedisStore(cluster.url, Promise(Durability.REPLICATED, 1), is_cluster=True)
    store.prepare()
    store.count(judged(of_shard(7)))
    master = cluster.holder_of_shard(7)
    (replica,) = cluster.replicas_of(master)
    sent = [judged(of_shard(7)) for _ in range(UPLOADS)]
    with traced(strace, master.pid, tmp_path / "master"), traced(strace, replica.pid, tmp_path / "replica"):
        assert [store.count(body).is_duplicate for body in sent * 2] == [False] * UPLOADS + [True] * UPLOADS
    copies = copies_on_disk((tmp_path / "master").read_text(), (tmp_path / "replica").read_text())
    assert copies == 2 * UPLOADS
    store.disconnect()


def copies_on_disk(master: str, replica: str) -> int:
    """Assert that the replica's log was written and synced between each command and the report of
    its copy; count them.
    """
    calls = [(began_at(call), call) for call in master.splitlines()]
    calls += [
        (ended_at(call) if "sync(" in call else began_at(call), f"replica {call}") for call in replica.splitlines()
    ]
    state, copies = "idle", 0
    for _, call in sorted(calls):
        if re.search(COMMAND_READ, call):
            state = "asked"
        elif re.search(f"^replica.*{LOG_WRITTEN}", call) and state == "asked":
            state = "written"
        elif re.search(f"^replica.*{LOG_SYNCED}", call) and state == "written":
            state = "on disk"
        elif re.search(COPIES_REPORTED, call):
            assert state == "on disk", f"told of a copy that is only {state}: {call}"
            copies += 1
            state = "idle"
    return copies


def began_at(call: str) -> float:
    return float(call.split()[1])


def ended_at(call: str) -> float:
    return began_at(call) + float(re.findall(r"<([0-9.]+)>$", call)[0])


@pytest.mark.parametrize("missing", ["fdatasync", "write"])
def test_the_check_refuses_a_master_that_tells_of_a_copy_too_early(missing: str) -> None:
    master = [
        '1 1.0 read(8<TCP:[1]>, "*9\\r\\n$7\\r\\nEVALSHA\\r\\n", 16384) = 9 <0.000001>',
        '1 1.5 write(8<TCP:[1]>, "*2\\r\\n:1\\r\\n:1\\r\\n", 12) = 12 <0.000001>',
    ]
    replica = [
        '1 1.2 write(9</data/x.incr.aof>, "x", 1) = 1 <0.000001>',
        "1 1.3 fdatasync(9</data/x.incr.aof>) = 0 <0.100000>",
    ]
    assert copies_on_disk("\n".join(master), "\n".join(replica)) == 1
    late = [replica[0], replica[1].replace("<0.100000>", "<0.300000>")]
    for broken in ([call for call in replica if f" {missing}(9" not in call], late):
        with pytest.raises(AssertionError, match="that is only"):
            copies_on_disk("\n".join(master), "\n".join(broken))
