"""How a program's end treats what is in memory only: nothing is lost or forgotten silently."""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from client_sdk import Recorded, per_process, recorder
from client_sdk.ledger.losses import Losses
from client_sdk.sending.helper import Helper
from client_sdk.telemetry import Telemetry
from tests.support.devices.clients import COLLECTOR, ask, rows, telemetry, write_lock_held
from tests.support.services.processes import wait_until

PLAIN = ask('[metric.a]\nkind = "boolean"\n[metric.b]\nkind = "boolean"\n[metric.c]\nkind = "boolean"')
EXPIRED = ask('[metric.late]\nkind = "boolean"\nexpires = 2020-01-01')
HELD_S = 0.4
"""Longer than one try waits for another process, and shorter than a program that ends."""


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch, real_deadline: float) -> None:
    """Let `record` wait no longer than outside of tests."""
    monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", real_deadline)


def held_for_a_moment(data_dir: Path) -> threading.Thread:
    """Let another process hold the ledger, for some time from now on."""
    held = threading.Event()

    def hold() -> None:
        with write_lock_held(data_dir):
            held.set()
            time.sleep(HELD_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    return thread


@pytest.mark.usefixtures("hasty")
def test_answers_that_wait_in_memory_are_recorded_when_the_program_ends(tmp_path: Path) -> None:
    device = telemetry(tmp_path, registry=PLAIN)
    wait_until(lambda: device.history() == [], what="the ledger")
    with write_lock_held(tmp_path):
        assert [device.record(name, value=True) for name in "abc"] == [Recorded.WAITING] * 3
    holder = held_for_a_moment(tmp_path)
    device.close()
    holder.join()
    assert sorted(rows(tmp_path, "SELECT metric FROM queue")) == [("a",), ("b",), ("c",)]


@pytest.mark.usefixtures("hasty")
def test_a_flush_waits_for_answers_that_wait_in_memory(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=PLAIN) as device:
        wait_until(lambda: device.history() == [], what="the ledger")
        holder = held_for_a_moment(tmp_path)
        assert device.record("a", value=True) is Recorded.WAITING
        assert device.flush(60)
        assert [entry.metric for entry in device.history()] == ["a"]
        holder.join()


def test_what_a_running_program_loses_is_counted_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("client_sdk.ledger.losses.STORE_EVERY_S", 0.0)
    with telemetry(tmp_path, registry=EXPIRED) as device:
        assert device.history() == []  # its ledger is open
        assert device.record("late", value=True) is Recorded.EXPIRED
        wait_until(lambda: rows(tmp_path, "SELECT * FROM drops") == [("expired", 1)], deadline_s=60, what="the count")


@pytest.mark.slow
def test_what_a_dropped_telemetry_has_lost_is_counted_in_the_file(tmp_path: Path) -> None:
    def lose() -> None:
        device = telemetry(tmp_path, registry=EXPIRED)
        assert device.history() == []  # its ledger is open
        assert [device.record("late", value=True) for _ in range(3)] == [Recorded.EXPIRED] * 3

    lose()
    gc.collect()
    wait_until(lambda: rows(tmp_path, "SELECT * FROM drops") == [("expired", 3)], what="the counts")


def test_counts_of_lost_answers_outlive_a_transaction_that_fails(tmp_path: Path) -> None:
    telemetry(tmp_path, registry=EXPIRED).close()
    losses = Losses()
    losses.add(Recorded.EXPIRED)
    with telemetry(tmp_path, registry=EXPIRED) as device:
        ledger_thread = device._processes.current.ledger_thread

        def fail(connection: object) -> None:
            losses.store(connection)  # type: ignore[arg-type] # a connection
            raise ZeroDivisionError

        ledger_thread.prepare(fail, begin="BEGIN IMMEDIATE")
        assert ledger_thread.run(losses.dropped, 60) == {"expired": 1}
        stored: Counter[str] = ledger_thread.run(losses.store, 60)
        losses.stored(stored)
        assert ledger_thread.run(losses.dropped, 60) == {"expired": 1}
        assert not losses


def test_after_the_user_has_opted_out_nothing_is_counted_any_more(tmp_path: Path) -> None:
    other = telemetry(tmp_path, registry=EXPIRED)
    assert other.history() == []  # its ledger is open
    with telemetry(tmp_path, registry=EXPIRED) as device:
        for each in (other, device):
            assert each.record("late", value=True) is Recorded.EXPIRED
        device.forget()
    other.close()
    assert rows(tmp_path, "SELECT * FROM drops") == []


def test_forgetting_waits_while_another_process_holds_the_ledger(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=PLAIN) as device:
        assert device.record("a", value=True) is Recorded.QUEUED
        holder = held_for_a_moment(tmp_path)
        device.forget()
        holder.join()
    assert rows(tmp_path, "SELECT secret FROM device") == [(None,)]
    assert rows(tmp_path, "SELECT * FROM queue") == []


def test_at_the_exit_of_the_program_telemetry_is_closed(tmp_path: Path) -> None:
    device = telemetry(tmp_path, registry=PLAIN)
    assert device.record("a", value=True) is Recorded.QUEUED
    device._processes.exit()
    assert device.record("b", value=True) is Recorded.CLOSED
    assert rows(tmp_path, "SELECT metric FROM queue") == [("a",)]


@pytest.mark.slow
@pytest.mark.parametrize("closes", [True, False])
def test_a_helper_starts_at_the_exit_although_the_app_has_dropped_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, closes: bool
) -> None:
    started: list[Path] = []
    monkeypatch.setattr(Helper, "start", lambda helper: started.append(helper.path))

    def record() -> None:
        device = Telemetry(PLAIN, collector=COLLECTOR, data_dir=tmp_path, consent=True, sender="process")
        assert device.record("a", value=True) is Recorded.QUEUED
        if closes:
            device.close()

    record()
    gc.collect()
    kept = [thing for thing in per_process._kept if getattr(thing, "_path", tmp_path).parent == tmp_path]
    for thing in kept:
        thing.exit()
        per_process.let_go(thing)
    assert [path.parent for path in started] == [tmp_path]


def test_a_thing_that_fails_at_the_exit_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thing:
        def __init__(self, *, fails: bool) -> None:
            self.fails, self.has_ended = fails, False

        def exit(self) -> None:
            self.has_ended = True
            if self.fails:
                raise ZeroDivisionError

    things = {Thing(fails=fails) for fails in (True, False)}
    monkeypatch.setattr(per_process, "_exiting", things)
    per_process._exit_all()
    assert all(thing.has_ended for thing in things)
