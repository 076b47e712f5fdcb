"""A device that kills itself by SIGKILL after a number of SQLite steps.

Run it as ``python -m tests.support.devices.mortal …``.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from client_sdk import Recorded, Telemetry, recorder
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.sending.responses import Reply
from tests.support.devices.clients import DAY_S, NOON, SetClock, accept, ask, telemetry

STEP: Final = 5
"""Instructions of SQLite's virtual machine between two steps; a statement takes some dozens."""

ALIVE: Final = "alive"
"""The output of a device that has survived all its days."""

DAYS: Final = 12
"""The maximum number of days of a device's life, after which it prints this."""

BOOLEANS: Final = ("one", "two", "three")

REGISTRY: Final = ask(
    "".join(f'[metric.{name}]\nkind = "boolean"\n' for name in BOOLEANS)
    + '[metric.filled]\nkind = "boolean"\nfill_in = true\n'
    + '[metric.lasting]\nkind = "boolean"\npermanent_epsilon = 2\n'
    + '[metric.taps]\nkind = "count"\nmax = 20\nstatistic = "mean"\npersist = true\n'
    + '[metric.noisy]\nkind = "number"\nlow = 0\nhigh = 1\nstatistic = "mean"\nmechanism = "gaussian"\ndelta = 1e-6\n'
    + "epsilon = 0.5",
    "per_window = 8\nper_month = 90\nlifetime = 400\ndelta = 2e-5",
)
"""Every way to charge, under ceilings that a device reaches in a few weeks."""


class Wire:
    """Logs every body durably, so that no kill loses it. Every third upload gets no answer."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._attempts = 0

    def post(self, body: bytes) -> Reply | None:
        """Note the body; answer, except every third time."""
        os.write(self._log, body + b"\n")
        self._attempts += 1
        return None if self._attempts % 3 == 0 else accept(read_upload(body))


def die_after(steps: int) -> None:
    """Make this process kill itself after a number of steps of all connections to a ledger."""
    left = [steps]
    connect: Callable[[str], sqlite3.Connection] = ledger_file.connect

    def count() -> int:
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def mortal(place: str) -> sqlite3.Connection:
        connection = connect(place)
        connection.set_progress_handler(count, STEP)
        return connection

    ledger_file.connect = mortal


def live(device: Telemetry, clock: SetClock) -> None:
    """Record every metric, send, and move on to the next day."""
    for day in range(DAYS):
        answers = dict.fromkeys(BOOLEANS, True) | {"lasting": day % 3 == 0, "noisy": 0.5}
        if day % 2:
            answers["filled"] = True
        for metric, answer in answers.items():
            device.record(metric, answer)
        assert device.count("taps", 3) is not Recorded.BUSY
        device.flush(timeout_s=10)
        clock.now_s += DAY_S / 2
        assert device.count("taps", 4) is not Recorded.BUSY
        device.flush(timeout_s=10)
        clock.now_s += DAY_S / 2


def main(data_dir: str, log: str, first_day: str, steps: str) -> None:
    """Live until the steps are used up."""
    recorder.RECORD_DEADLINE_S = recorder.SECRET_DEADLINE_S = 60.0
    die_after(int(steps))
    clock = SetClock(NOON + float(first_day) * DAY_S)
    with telemetry(Path(data_dir), registry=REGISTRY, clock=clock, transport=Wire(Path(log))) as device:
        device._processes.current.uploader._departures.uniform = lambda low, _: low
        live(device, clock)
    sys.stdout.write(ALIVE)


if __name__ == "__main__":
    main(*sys.argv[1:])
