"""Starts and ends the real programs: servers on free ports."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.embedded.supervisor import _end_with_parent

START_DEADLINE_S = 300.0
"""A two-core machine on which several suites run at once starts everything within a minute.

If a condition does not hold after five minutes, it never will.
"""

COMMAND_DEADLINE_S = 600.0
"""The same for a command that does something and ends."""

READ_TOKEN = "read-token-of-the-tests"  # noqa: S105 a test's own


def started(command: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
    """Start a server that the kernel ends together with the calling thread (Linux).

    So it ends even if the tests are killed.
    """
    return subprocess.Popen(command, preexec_fn=_end_with_parent, **settings)  # noqa: PLW1509 one system call


def free_port() -> int:
    """Return a free port that the kernel gives only to programs that request it by number.

    A connection of the port to itself, ended by the listening side, stays in TIME_WAIT for a
    minute. Until then a socket that asks for any port does not get this one, but a server with
    SO_REUSEADDR can.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        port: int = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            listener.accept()[0].close()
            client.recv(1)
    return port


def wait_until(condition: Callable[[], bool], *, deadline_s: float = START_DEADLINE_S, what: str = "it") -> None:
    """Poll a condition until it holds.

    Raises:
        TimeoutError: if it does not hold in time.

    """
    deadline = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {deadline_s} s for {what}")
        time.sleep(0.02)


@dataclass
class RunningCollector:
    """A collector in its own process.

    Attributes:
        url: its base address.
        data_dir: its embedded store's directory.
        process: its main process.
        output: the file with its standard output and error.

    """

    url: str
    data_dir: Path
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def pid(self) -> int:
        """The pid of the main process."""
        return self.process.pid

    def worker_pids(self) -> list[int]:
        """Return the pids of the worker processes."""
        return [pid for pid in children(self.pid) if "spawn_main" in command_line(pid)]

    def supervisor_pid(self) -> int:
        """Return the pid of the process that supervises the store."""
        return next(pid for pid in children(self.pid) if "supervisor.py" in command_line(pid))

    def store_pid(self) -> int:
        """Return the pid of the store's server."""
        return next(pid for pid in children(self.supervisor_pid()) if "server" in command_line(pid))

    def stop(self) -> int:
        """End the collector as an operator would, and return its exit code."""
        self.process.terminate()
        return self.process.wait(START_DEADLINE_S)


@contextlib.contextmanager
def running_collector(
    registry: Path,
    data_dir: Path,
    *options: str,
    host: str = "127.0.0.1",
    port: int | None = None,
    environment: Mapping[str, str | None] | None = None,
    start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
) -> Iterator[RunningCollector]:
    """Run ``hearsay-collector serve`` until the context ends.

    A variable that is None is not set.
    """
    port = port or free_port()
    data_dir.mkdir(parents=True, exist_ok=True)
    output = data_dir.parent / f"collector-{port}.out"
    command = [
        *(sys.executable, "-m", "collector", "serve", "--registry", str(registry)),
        *("--bind", f"{host}:{port}", "--data-dir", str(data_dir), *options),
    ]
    variables = {**os.environ, "HEARSAY_READ_TOKEN": READ_TOKEN, **(environment or {})}
    settings = {name: value for name, value in variables.items() if value is not None}
    with output.open("wb") as sink:
        process = start(command, stdout=sink, stderr=subprocess.STDOUT, env=settings)
    collector = RunningCollector(f"http://127.0.0.1:{port}", data_dir, process, output)
    try:
        wait_until(
            lambda: b"is ready on" in output.read_bytes() or process.poll() is not None, what="a collector to be ready"
        )
        if process.poll() is not None:
            raise RuntimeError(output.read_text())
        yield collector
    finally:
        if process.poll() is None:
            collector.stop()


def children(pid: int) -> list[int]:
    """Return the pids of a process's children."""
    processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [process for process in processes if stat_fields(process)[1:2] == [str(pid)]]


def command_line(pid: int) -> str:
    """Return a process's command line; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process with all its threads."""
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended; a zombie has ended."""
    return stat_fields(pid)[:1] not in ([], ["Z"])


def kill(pid: int) -> None:
    """Kill a process that this test started."""
    os.kill(pid, signal.SIGKILL)


def run_command(command: Sequence[str], **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and return its output."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=COMMAND_DEADLINE_S, env={**os.environ, **settings}
    )


def resident_bytes(pid: int) -> int:
    """Return the bytes of memory that a process uses."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def listens(port: int) -> bool:
    """Return whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
