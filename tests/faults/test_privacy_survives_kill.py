"""Devices are killed at random steps of recording, counting, filling in and sending.

There is never a report without its charge, never two reports for one charge, and never a ceiling
exceeded. Nothing that was charged is forgotten.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from client_sdk.ledger import charges
from client_sdk.ledger.charges import Periods, SlotKey
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol import Upload, Window
from client_sdk.protocol.wire.reading import read_upload
from tests.support.devices.clients import DAY_S, NOON, rows
from tests.support.devices.mortal import ALIVE, DAYS, REGISTRY
from tests.support.devices.states import State, key_of, reports_and_charges_go_together

LIVES = 10
"""Kills in a round: two hundred in the twenty rounds of `make faults`."""

MOST_STEPS = 15_000
"""A life of all days takes a few more steps, so that a kill falls into any day."""


@pytest.mark.long
def test_a_device_that_is_killed_at_any_step_keeps_its_promises(tmp_path: Path, round_number: int) -> None:
    seeded, day = random.Random(round_number), 0.0  # noqa: S311 where to kill is no secret
    before: dict[SlotKey, tuple[int, int, int]] = {}
    ends = []
    for _ in range(LIVES):
        ends.append(live(tmp_path, day, seeded.randint(1, MOST_STEPS)))
        if (tmp_path / "data" / FILE_NAME).exists():
            state = State.read(tmp_path / "data")
            check(tmp_path, state, before)
            before = state.charges
            day = days_seen(tmp_path / "data")
    assert -signal.SIGKILL in ends
    assert live(tmp_path, day, 10**9) == 0
    state = State.read(tmp_path / "data")
    check(tmp_path, state, before)
    assert len(state.history) > DAYS


def live(folder: Path, day: float, steps: int) -> int:
    """Let a device live from a given day until its steps are used up; return its exit code."""
    command = [
        sys.executable,
        "-m",
        "tests.support.devices.mortal",
        str(folder / "data"),
        str(folder / "log"),
        str(day),
    ]
    done = subprocess.run([*command, str(steps)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert (done.stdout == ALIVE) is (done.returncode == 0)
    return done.returncode


def days_seen(data_dir: Path) -> float:
    """Return how many days after the first one the ledger's clock is."""
    ((latest_s,),) = rows(data_dir, "SELECT latest_s FROM device")
    return max(0.0, (int(latest_s) - NOON) / DAY_S)


def sent(folder: Path) -> Iterator[Upload]:
    """Yield everything that left the device, in any attempt."""
    log = folder / "log"
    yield from (read_upload(body) for body in log.read_bytes().splitlines()) if log.exists() else ()


def check(folder: Path, state: State, before: dict[SlotKey, tuple[int, int, int]]) -> None:
    assert rows(folder / "data", "PRAGMA integrity_check") == [("ok",)]
    reports_and_charges_go_together(state)
    nothing_left_without_its_charge_or_twice(folder, state)
    nothing_charged_is_forgotten(state, before)
    with closing(sqlite3.connect(folder / "data" / FILE_NAME)) as connection:
        no_ceiling_is_exceeded(connection)
        slots_are_paid_for(connection, state)


def nothing_left_without_its_charge_or_twice(folder: Path, state: State) -> None:
    symbols: dict[SlotKey, set[tuple[str, int]]] = {}
    for upload in sent(folder):
        for report in upload.reports:
            symbols.setdefault(key_of(report), set()).add((upload.id, report.symbol))
    assert symbols.keys() <= state.charges.keys()
    assert all(len(sent) == 1 for sent in symbols.values())


def nothing_charged_is_forgotten(state: State, before: dict[SlotKey, tuple[int, int, int]]) -> None:
    for key, (nanos, attos, done) in before.items():
        assert state.charges[key][:2] == (nanos, attos)
        assert state.charges[key][2] >= done


def no_ceiling_is_exceeded(connection: sqlite3.Connection) -> None:
    budget = REGISTRY.budget
    assert budget.per_month_nanos is not None
    days = [Window.parse(day) for (day,) in connection.execute("SELECT DISTINCT last_day FROM charges")]
    for day in days:
        in_window, in_month, _ = charges.spent_nanos(connection, Periods.at(budget, day.starts_at))
        assert in_window <= budget.per_window_nanos
        assert in_month <= budget.per_month_nanos
    assert charges.lifetime_nanos(connection) <= budget.lifetime_nanos
    assert connection.execute("SELECT COALESCE(SUM(attos), 0) FROM charges").fetchone()[0] <= budget.lifetime_attos


def slots_are_paid_for(connection: sqlite3.Connection, state: State) -> None:
    """The slot of each window that the device met is charged, unless a ceiling forbade it and still
    does.
    """
    metric, budget = REGISTRY.metric("filled"), REGISTRY.budget
    for window in state.slots:
        if (metric.name, metric.edition, window) not in state.charges:
            periods = Periods.at(budget, Window.parse(window).starts_at)
            _, month, _ = charges.spent_nanos(connection, periods)
            assert budget.per_month_nanos is not None
            assert month + metric.cost.nanos > budget.per_month_nanos
