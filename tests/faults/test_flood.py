"""More devices at once than a collector or a relay without a proxy can hold."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from client_sdk.protocol import Window, WindowKind
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES
from collector.relay.app import MAX_ARRIVING
from collector.relay.config import DEFAULT_HELD
from collector.relay.serve import SPARE_CONNECTIONS
from collector.service import MAX_CONNECTIONS
from tests.support.services.collecting import report, upload
from tests.support.services.processes import kill, resident_bytes, running_collector, wait_until
from tests.support.services.relaying import collector_with_key, running_relay
from tests.support.services.wire import post, raw_answer, with_length


@pytest.mark.long
def test_a_flood_of_slow_devices_waits_in_bounded_memory_and_leaves_no_trace(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        window, worker = Window.at(WindowKind.DAY, time.time()).text, collector.worker_pids()[0]
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
        # For each held connection one body, and as much again of what follows it.
        assert grown < MAX_CONNECTIONS * 2 * MAX_UPLOAD_BYTES
        wait_until(lambda: post(collector.url, upload(report(window=window)))[0] == 200, what="an answer")


IDLE = 1100
"""More than the number of bodies that a relay waits for; at 64 KiB each they exceed its room."""


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process hold this many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * IDLE)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.long
@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize(("kept_back", "held"), [(MAX_UPLOAD_BYTES, DEFAULT_HELD), (1, 16)])
def test_devices_pass_a_relay_while_others_announce_bodies_and_keep_them_back(
    registry_file: Path, tmp_path: Path, kept_back: int, held: int
) -> None:
    window = Window.at(WindowKind.DAY, time.time()).text
    begun = with_length(bytes(MAX_UPLOAD_BYTES - kept_back), MAX_UPLOAD_BYTES)
    with (
        collector_with_key(registry_file, tmp_path) as collector,
        running_relay(collector.url, tmp_path, "--gather", "0.1", "--held", str(held)) as relay,
        contextlib.ExitStack() as idle,
    ):
        where, worker = ("127.0.0.1", int(relay.url.rpartition(":")[2])), relay.worker_pid()
        before = resident_bytes(worker)
        connections = [idle.enter_context(socket.create_connection(where, 30.0)) for _ in range(IDLE)]
        for connection in connections:
            with contextlib.suppress(ConnectionError):  # the server may have closed it already
                connection.sendall(begun)
        sent_away = select.poll()
        for connection in connections:
            sent_away.register(connection, select.POLLIN)
        assert sent_away.poll(30_000), "it was no flood"
        for _ in range(10):
            assert post(relay.url, upload(report(window=window))) == (200, {"accepted": 1, "refused": []})
        assert raw_answer(relay.url, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 200
        # For each awaited body what came of it, and as much again that the server buffers.
        assert resident_bytes(worker) - before < (MAX_ARRIVING + SPARE_CONNECTIONS) * 2 * MAX_UPLOAD_BYTES
        kill(relay.process.pid)  # it would wait for those who keep connections open
        kill(worker)
