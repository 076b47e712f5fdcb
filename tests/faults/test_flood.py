"""More devices at once than a collector that stands without a proxy can hold."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from client_sdk.spec import MAX_UPLOAD_BYTES, Window, WindowKind
from collector.serve import MAX_CONNECTIONS
from tests.support.collecting import report, upload
from tests.support.processes import resident_bytes, running_collector, wait_until
from tests.support.wire import post, with_length


def test_a_flood_of_slow_devices_waits_in_bounded_memory_and_leaves_no_trace(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        window, worker = Window.of(WindowKind.DAY, time.time()).text, collector.worker_pids()[0]
        assert post(collector.url, upload(report(window=window)))[0] == 200
        before = resident_bytes(worker)
        where = ("127.0.0.1", int(collector.url.rpartition(":")[2]))
        with contextlib.ExitStack() as devices:
            for _ in range(2 * MAX_CONNECTIONS):
                device = devices.enter_context(socket.create_connection(where, 30.0))
                device.setblocking(False)  # noqa: FBT003 as the standard library has it
                with contextlib.suppress(BlockingIOError):
                    device.send(with_length(bytes(MAX_UPLOAD_BYTES - 1), MAX_UPLOAD_BYTES))
            assert post(collector.url, upload(report(window=window)), timeout_s=2.0) == (0, None), "it was no flood"
            grown = resident_bytes(worker) - before
        # Of each connection that is held a body, and as much of what comes behind it.
        assert grown < MAX_CONNECTIONS * 2 * MAX_UPLOAD_BYTES
        wait_until(lambda: post(collector.url, upload(report(window=window)))[0] == 200, what="an answer")
