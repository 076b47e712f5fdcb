"""Runs a collector that knows a relay, and that relay."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from client_sdk.protocol import Upload
from tests.support.services.collecting import OPEN, key_entry
from tests.support.services.processes import (
    READ_TOKEN,
    START_DEADLINE_S,
    RunningCollector,
    children,
    command_line,
    free_port,
    running_collector,
    wait_until,
)

RELAY_KEY = "relay-key-of-the-tests"

STATE = "relay.json"


@dataclass
class RunningRelay:
    """A relay in its own process.

    Attributes:
        url: its base address.
        process: its main process.
        output: the file with its standard output and error.

    """

    url: str
    process: subprocess.Popen[bytes]
    output: Path

    def worker_pid(self) -> int:
        """Return the pid of the process that mixes."""
        return next(pid for pid in children(self.process.pid) if "spawn_main" in command_line(pid))

    def stop(self) -> int:
        """End the relay as an operator would, and return its exit code."""
        self.process.terminate()
        return self.process.wait(START_DEADLINE_S)


@contextlib.contextmanager
def collector_with_key(
    registry: Path, folder: Path, *options: str, port: int | None = None
) -> Iterator[RunningCollector]:
    """Run a collector with a relay key. Its read token may look at open windows."""
    access = folder / "access.toml"
    access.write_text(
        OPEN + key_entry("relay", "relay", RELAY_KEY) + key_entry("reader", "read", READ_TOKEN, "preliminary = true"),
        encoding="utf-8",
    )
    options, unset = ("--access", str(access), *options), {"HEARSAY_READ_TOKEN": None}
    with running_collector(registry, folder / "data", *options, port=port, environment=unset) as collector:
        yield collector


@contextlib.contextmanager
def running_relay(collector: str, folder: Path, *options: str, port: int | None = None) -> Iterator[RunningRelay]:
    """Run ``hearsay-collector relay`` until the context ends. Its list of stops is in `STATE`."""
    port = port or free_port()
    output = folder / f"relay-{port}.out"
    command = [sys.executable, "-m", "collector", "relay", "--to", collector, "--bind", f"127.0.0.1:{port}"]
    command += ["--state", str(folder / STATE), *options]
    with output.open("ab") as sink:
        seen = output.stat().st_size
        process = subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, env={**os.environ, "HEARSAY_RELAY_KEY": RELAY_KEY}
        )
    relay = RunningRelay(f"http://127.0.0.1:{port}", process, output)
    try:
        wait_until(
            lambda: b"is ready on" in output.read_bytes()[seen:] or process.poll() is not None,
            what="a relay to be ready",
        )
        if process.poll() is not None:
            raise RuntimeError(output.read_text())
        yield relay
    finally:
        if process.poll() is None:
            relay.stop()


def encode_batch(uploads: Sequence[Upload]) -> bytes:
    """Return the body of a batch."""
    return b"".join(upload.encode() + b"\n" for upload in uploads)
