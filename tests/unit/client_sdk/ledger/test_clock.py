"""A clock that jumps: no day is paid for twice, and an app learns what is wrong."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from client_sdk import FlushOutcome, Recorded
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol import Refusal, Window, WindowKind
from client_sdk.show import look
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, accept, ask, refuse, rows, telemetry

HOUR_S = 3600
ONCE = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"', "per_window = 1")


@pytest.mark.parametrize("back_s", [HOUR_S, 13 * HOUR_S, 23 * HOUR_S, DAY_S])
def test_a_clock_that_is_set_back_by_up_to_a_day_renews_no_window(tmp_path: Path, back_s: int) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=ONCE, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s -= back_s
        assert device.record("m", value=True) is Recorded.ALREADY_RECORDED
        assert device.record("n", value=True) is Recorded.OUT_OF_BUDGET
        assert device.problem is None
        clock.now_s = NOON + DAY_S
        assert device.record("n", value=True) is Recorded.QUEUED
    assert len(rows(tmp_path, "SELECT * FROM charges")) == 2


def test_the_ledger_knows_the_time_of_every_window_and_writes_it_once_an_hour(tmp_path: Path) -> None:
    clock, file = SetClock(NOON + DAY_S // 2 - 1), tmp_path / FILE_NAME
    with telemetry(tmp_path, registry=ONCE, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s += 1
        assert device.record("n", value=True) is Recorded.QUEUED
        clock.now_s -= 1
        assert device.record("n", value=True) is Recorded.ALREADY_RECORDED, "a day of which the ledger knew"
        assert device.flush(timeout_s=60)
    before = file.read_bytes()
    clock.now_s += HOUR_S
    with telemetry(tmp_path, registry=ONCE, clock=clock) as device:
        assert device.record("n", value=True) is Recorded.ALREADY_RECORDED
    assert file.read_bytes() == before, "a command that records nothing need not wait for the disk"


@pytest.mark.parametrize("back_s", [25 * HOUR_S, 30 * DAY_S, 3000 * DAY_S])
@pytest.mark.parametrize("runs", [1, 2], ids=["in one run", "over two runs"])
def test_a_clock_set_back_farther_records_nothing_until_it_gets_there(tmp_path: Path, back_s: int, runs: int) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    device = telemetry(tmp_path, registry=ONCE, clock=clock, transport=transport)
    assert device.record("m", value=True) is Recorded.QUEUED
    if runs == 2:
        device.close()
        device = telemetry(tmp_path, registry=ONCE, clock=clock, transport=transport)
    with device:
        clock.now_s -= back_s
        assert device.record("n", value=True) is Recorded.UNAVAILABLE
        assert "clock is before 2026-11-20" in (device.problem or "")
        assert device.flush(timeout_s=60)  # what was paid for is still sent
        clock.now_s = NOON + DAY_S
        assert device.record("n", value=True) is Recorded.QUEUED
        assert device.problem is None
    assert [report.metric for report in transport.reports] == ["m"]


def test_what_a_clock_that_was_years_behind_recorded_is_refused_by_name_and_counted_and_today_has_its_own_budget(
    tmp_path: Path,
) -> None:
    clock, transport = SetClock(NOON - 3000 * DAY_S), ScriptedTransport(refuse(Refusal.WINDOW_CLOSED), accept)
    with telemetry(tmp_path, registry=ONCE, clock=clock, transport=transport) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s = NOON
        assert device.flush(timeout_s=60).outcome is FlushOutcome.REFUSED
        assert device.record("m", value=True) is Recorded.QUEUED
        assert device.flush(timeout_s=60)
        assert device.dropped() == {"window_closed": 1}
        assert [(entry.window, entry.outcome) for entry in device.history()] == [
            ("2018-09-03", "window_closed"),
            ("2026-11-20", "accepted"),
        ]
    assert len(rows(tmp_path, "SELECT * FROM charges")) == 2


def test_a_metric_that_has_expired_by_the_ledgers_time_is_not_asked_by_a_clock_that_was_set_back() -> None:
    clock = SetClock(NOON + DAY_S)
    registry = ask('[metric.m]\nkind = "boolean"\n[metric.old]\nkind = "boolean"\nexpires = 2026-11-20')
    with telemetry(None, registry=registry, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s = NOON
        assert device.record("old", value=True) is Recorded.EXPIRED


@pytest.mark.parametrize("kind", WindowKind)
def test_the_last_second_of_a_window_and_the_next_one_have_budgets_of_their_own(
    tmp_path: Path, kind: WindowKind
) -> None:
    registry = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"', f'window = "{kind}"\nper_window = 1')
    end_s = Window.at(kind, NOON).ends_at
    clock = SetClock(end_s - 1)
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        assert device.record("n", value=True) is Recorded.OUT_OF_BUDGET
        clock.now_s = end_s
        assert device.record("n", value=True) is Recorded.QUEUED
        assert device.record("m", value=True) is Recorded.OUT_OF_BUDGET


def test_a_month_has_a_budget_of_its_own_whatever_the_window(tmp_path: Path) -> None:
    registry = ask('[metric.m]\nkind = "boolean"', "per_month = 2")
    clock, end_s = SetClock(), Window.at(WindowKind.MONTH, NOON).ends_at
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        results = []
        while clock.now_s < end_s + 3 * DAY_S:
            results.append(device.record("m", value=True))
            clock.now_s += DAY_S
    assert results == [Recorded.QUEUED] * 2 + [Recorded.OUT_OF_BUDGET] * 9 + [Recorded.QUEUED] * 2 + [
        Recorded.OUT_OF_BUDGET
    ]


def test_deltas_have_a_ceiling_of_their_own(tmp_path: Path) -> None:
    """A Gaussian mean: delta pays for fewer reports than epsilon does."""
    mean = 'kind = "number"\nlow = 0\nhigh = 1\nstatistic = "mean"\nmechanism = "gaussian"\ndelta = 1e-6\nepsilon = 0.5'
    registry, clock = ask(f'[metric.noisy]\n{mean}\n[metric.m]\nkind = "boolean"', "delta = 3e-6"), SetClock()
    each = registry.metric("noisy").delta
    assert 0 < each <= 1e-6
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        for _ in range(int(3e-6 / float(each))):
            assert device.record("noisy", 0.25) is Recorded.QUEUED
            clock.now_s += DAY_S
        assert device.record("noisy", 0.25) is Recorded.OUT_OF_BUDGET
        assert device.record("m", value=True) is Recorded.QUEUED
    ((attos,),) = rows(tmp_path, "SELECT SUM(attos) FROM charges")
    assert 3 * 10**12 - 10**18 * each < attos <= 3 * 10**12


@pytest.mark.parametrize("back_s", [13 * HOUR_S, 30 * DAY_S])
def test_what_is_left_is_told_by_the_ledgers_time_which_does_not_go_back(tmp_path: Path, back_s: int) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=ONCE, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        before = device.budget()
        assert (before.window, before.window_left) == ("2026-11-20", 0.0)
        clock.now_s -= back_s
        assert device.budget() == before
        connection = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        assert look(connection, clock.now_s).budget == before
        connection.close()


def test_a_clock_that_was_set_back_stays_a_problem_whatever_is_asked_meanwhile(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=ONCE, clock=clock) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s -= 30 * DAY_S
        assert device.record("n", value=True) is Recorded.UNAVAILABLE
        device.budget()
        device.statement()
        assert "clock is before 2026-11-20" in (device.problem or "")
        clock.now_s = NOON + DAY_S
        assert device.record("n", value=True) is Recorded.QUEUED
        assert device.problem is None
