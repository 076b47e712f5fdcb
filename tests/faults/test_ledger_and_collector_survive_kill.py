"""kill -9 of a device at random moments while it records and sends to a real collector.

Each report is counted once.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk.ledger.file import FILE_NAME
from client_sdk.ledger.retry_times import EXCHANGE_S
from tests.support.devices.clients import many_text, rows
from tests.support.devices.hasty import BEGUN, DONE
from tests.support.devices.states import State, reports_and_charges_go_together
from tests.support.services.processes import running_collector
from tests.support.services.wire import tallies

LIVES = 10
"""Kills in a round: two hundred in the twenty rounds of `make faults`."""

LONGEST_LIFE_S = 0.5
"""After it has begun: a device records and sends some dozens of reports meanwhile. A busy machine
takes longer, so lives become longer until one is killed while an upload is under way."""

MOST_LIVES = 10 * LIVES

METRICS = 900
"""More than ten such lives record."""


@pytest.mark.long
def test_every_report_of_a_device_that_is_killed_while_it_sends_is_counted_once(
    tmp_path: Path, round_number: int
) -> None:
    seeded = random.Random(round_number)  # noqa: S311 when to kill is no secret
    registry, data_dir = tmp_path / "metrics.toml", tmp_path / "app"
    registry.write_text(many_text(METRICS), encoding="utf-8")
    lives = under_way = 0
    with running_collector(registry, tmp_path / "store") as collector:
        arguments = [str(data_dir), str(registry), collector.url]
        while lives < LIVES or not under_way:
            assert lives < MOST_LIVES, "no device was killed while an upload was under way"
            lives += 1
            live(arguments, seeded.uniform(0, LONGEST_LIFE_S) * -(-lives // LIVES))
            if (data_dir / FILE_NAME).exists():
                state = State.read(data_dir)
                reports_and_charges_go_together(state)
                under_way += bool(state.uploads)
        # what the killed devices were sending is due again by the clock of the last
        assert live(arguments, None, ahead_s=EXCHANGE_S) == DONE
        state = State.read(data_dir)
        reports_and_charges_go_together(state)
        assert (state.waiting, state.uploads) == ([], [])
        counted = {
            (tally["metric"], tally["edition"], tally["window"]): sum(tally["counts"])
            for tally in tallies(collector.url, "?preliminary=1")
        }
    assert counted == dict.fromkeys(state.charges, 1)
    assert len(counted) >= METRICS
    assert rows(data_dir, "SELECT * FROM drops") == []


def live(arguments: list[str], seconds: float | None, ahead_s: int = 0) -> str:
    """Let a device live for seconds once begun, or until it is done; return what it said then."""
    command = [sys.executable, "-m", "tests.support.devices.hasty", *arguments, str(ahead_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{BEGUN}\n"
        if seconds is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.kill()
        return process.stdout.read()
