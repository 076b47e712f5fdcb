"""The cost of an upload for a relay: processor time, and memory while the relay waits."""

from __future__ import annotations

import contextlib
import resource
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.collector import REGISTRY
from benchmarks.load import ANSWER_TIMEOUT_S, read_answer, request, uploads
from benchmarks.results import spread, table
from client_sdk.protocol import Registry
from tests.support.services.processes import cpu_seconds
from tests.support.services.relaying import collector_with_key, running_relay

ROUNDS = 5
HELD = 900
"""The number of uploads that wait in the relay while memory is measured.

This number must be smaller than a batch, because the relay forwards a full batch at once.
"""

GATHER_S = 2
SPARE_FILES = 100


def measure_relay() -> str:
    registry = Registry.load(REGISTRY)
    with (
        _open_files(HELD + SPARE_FILES),
        tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder,
        collector_with_key(REGISTRY, Path(folder)) as collector,
        running_relay(collector.url, Path(folder), "--gather", str(GATHER_S)) as relay,
    ):
        port, pid = int(relay.url.rpartition(":")[2]), relay.worker_pid()
        send_at_once(port, [request("/v1/reports", body) for body in uploads(registry, 1)])
        before = peak_bytes(pid)
        cpu_us = []
        for number in range(ROUNDS):
            requests = [request("/v1/reports", body) for body in uploads(registry, HELD)]
            busy_s = cpu_seconds(pid)
            send_at_once(port, requests)
            cpu_us.append((cpu_seconds(pid) - busy_s) / HELD * 1e6)
            if not number:
                held = (peak_bytes(pid) - before) / HELD / 1024
    return (
        "## Relay\n\n"
        f"In each of {ROUNDS} rounds, {HELD} uploads of 4 reports arrive at once, each on its own connection. The\n"
        f"relay holds them for up to {GATHER_S} s. Its processor time is shown as median (range), and its memory is\n"
        "the peak of the first round.\n\n"
        + table(
            ("what", "figure"),
            [
                ["CPU µs per upload", spread(cpu_us)],
                ["KiB per held upload, including its connection", f"{held:.1f}"],
            ],
        )
    )


def send_at_once(port: int, requests: Sequence[bytes]) -> None:
    """Send each request on a separate connection, and then wait for all answers."""
    with contextlib.ExitStack() as opened:
        connections = []
        for message in requests:
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S))
            connection.sendall(message)
            connections.append(connection)
        for connection in connections:
            head = read_answer(connection)
            if b" 200 " not in head[:16]:
                raise RuntimeError(head.decode(errors="replace"))


def peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@contextlib.contextmanager
def _open_files(number: int) -> Iterator[None]:
    """Raise this process's limit on open files during the ``with`` block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
