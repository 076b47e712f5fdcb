"""What is added up over a window: the sum, where it is kept, and that nothing of it remains."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from client_sdk import OutsideDomainError, Recorded, Registry, UnknownMetricError
from client_sdk.answers.calendar import RELEASE_SPREAD_S
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.ledger import charges
from client_sdk.ledger.file import open_memory
from client_sdk.ledger.thread import BARE, LedgerThread
from client_sdk.protocol import GRACE_S, Window, WindowKind
from tests.support.devices.clients import (
    DAY_S,
    NOON,
    ScriptedTransport,
    SetClock,
    all_bytes,
    ask,
    in_child,
    rows,
    telemetry,
)
from tests.support.laws.coins import ScriptedCoins

TODAY = Window.at(WindowKind.DAY, NOON)
LONG_S = 60.0
MARKED = 0x5A17C0DE1234
"""A count whose bytes occur nowhere else."""


def counting(more: str = "", most: int = 9) -> Registry:
    """Return a registry of a count ``m``, reported truthfully except once in 10**8, and a
    boolean.
    """
    count = f'kind = "count"\nmax = {most}\nstatistic = "distribution"\nepsilon = 20'
    return ask(f'[metric.m]\n{count}\n{more}\n[metric.yes]\nkind = "boolean"')


def marked(more: str) -> Registry:
    return ask(f'[metric.m]\nkind = "count"\nmax = {10**15}\nstatistic = "mean"\n{more}')


def reported(data_dir: Path | None, registry: Registry, counted: list[Any]) -> list[int]:
    """Return the symbols that a device reports a day after it counted."""
    clock, transport = SetClock(), ScriptedTransport()
    with telemetry(data_dir, registry=registry, clock=clock, transport=transport) as device:
        for by in counted:
            assert device.count("m", by) is Recorded.COUNTED
        assert device.flush(timeout_s=LONG_S)
        assert transport.bodies == []
        clock.now_s = TODAY.ends_at + RELEASE_SPREAD_S
        assert device.flush(timeout_s=LONG_S)
        assert device.budget().lifetime_spent > 0 or not counted
    return [report.symbol for report in transport.reports]


@pytest.mark.slow
@pytest.mark.parametrize("persist", ["", "persist = true"])
@pytest.mark.parametrize(
    ("counted", "expected"),
    [([1], [1]), ([1, 2, 4], [7]), ([5, 5], [9]), ([10**30], [9]), ([10**30, 10**30], [9]), ([0], [0]), ([], [])],
    ids=["one", "sum", "above", "far above", "twice", "none", "nothing"],
)
def test_the_sum_is_reported_when_the_window_has_ended_cut_at_max(
    tmp_path: Path, persist: str, counted: list[int], expected: list[int]
) -> None:
    assert reported(tmp_path, counting(persist), counted) == expected


@pytest.mark.parametrize("strategy", ['strategy = "pace"', 'strategy = "sample"\nanswers = 1'])
@pytest.mark.parametrize("persist", ["", "persist = true"])
def test_a_drawn_count_is_reported_from_the_slot_that_was_paid_for(tmp_path: Path, strategy: str, persist: str) -> None:
    count = 'kind = "count"\nmax = 9\nstatistic = "distribution"\nepsilon = 20\nexpires = 2026-11-30'
    drawn = ask(f"[metric.m]\n{count}\n{persist}", strategy)
    assert reported(tmp_path, drawn, [2, 3]) == [5]


def test_in_memory_it_adds_up_too() -> None:
    assert reported(None, counting("persist = true"), [2, 3]) == reported(None, counting(), [2, 3]) == [5]


@pytest.mark.parametrize(
    ("metric", "by", "error", "said"),
    [
        ("m", 31415.5, OutsideDomainError, "a whole number from 0 to 9"),
        ("m", True, OutsideDomainError, "a whole number from 0 to 9"),
        ("m", "31415", OutsideDomainError, "a whole number from 0 to 9"),
        ("yes", 31415, OutsideDomainError, r"expects record\(\), because a boolean cannot be counted"),
        ("unknown", 31415, UnknownMetricError, "it defines: m, yes"),
    ],
)
@pytest.mark.parametrize("consent", [True, False])
def test_a_programmers_mistake_is_named_and_does_not_hold_the_count(
    metric: str, by: Any, error: type[Exception], said: str, *, consent: bool
) -> None:
    strict = telemetry(None, registry=counting(), consent=consent, strict=True)
    with strict as device, pytest.raises(error, match=said) as caught:
        device.count(metric, by)
    assert caught.value.__context__ is None
    assert caught.value.__traceback__ is not None
    below = traceback.TracebackException(
        error, caught.value, caught.value.__traceback__.tb_next, capture_locals=True, compact=True
    )
    assert "31415" not in "".join(below.format())


def test_every_reason_not_to_count_is_said(tmp_path: Path) -> None:
    with telemetry(tmp_path / "none", registry=counting(), consent=False) as device:
        assert device.count("m") is Recorded.NO_CONSENT
    expired = counting("expires = 2026-11-19")
    with telemetry(tmp_path, registry=expired) as device:
        assert device.count("m") is Recorded.EXPIRED
    assert device.count("m") is Recorded.CLOSED
    with telemetry(tmp_path, registry=counting()) as device:
        assert device.record("m", 3) is Recorded.QUEUED
        assert device.count("m") is Recorded.ALREADY_RECORDED


def test_a_count_that_is_not_kept_ends_with_its_process(tmp_path: Path) -> None:
    for persist, symbols in (("", []), ("persist = true", [5])):
        registry, clock, transport = counting(persist), SetClock(), ScriptedTransport()
        data_dir = tmp_path / (persist[:7] or "memory")
        for by in (2, 3):
            with telemetry(data_dir, registry=registry, clock=clock) as device:
                device.count("m", by)
        clock.now_s = TODAY.ends_at + RELEASE_SPREAD_S
        with telemetry(data_dir, registry=registry, clock=clock, transport=transport) as device:
            device.flush(timeout_s=LONG_S)
        assert [report.symbol for report in transport.reports] == symbols


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(("persist", "expected"), [("", 2), ("persist = true", 5)])
def test_a_child_counts_by_itself_unless_counts_are_kept(tmp_path: Path, persist: str, expected: int) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    with telemetry(tmp_path, registry=counting(persist), clock=clock, transport=transport) as device:
        device.count("m", 2)
        assert in_child(lambda: device.count("m", 3)) == "counted"
        clock.now_s = TODAY.ends_at + RELEASE_SPREAD_S
        assert device.flush(timeout_s=LONG_S)
    assert [report.symbol for report in transport.reports] == [expected]


def test_windows_are_counted_apart(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=counting(), clock=clock) as device:
        for by in (1, 2, 3):
            device.count("m", by)
            clock.now_s += DAY_S
        device.flush(timeout_s=LONG_S)
        device.flush(timeout_s=LONG_S)
    symbols = rows(tmp_path, "SELECT symbol FROM history UNION ALL SELECT symbol FROM queue ORDER BY symbol")
    assert symbols == [(1,), (2,), (3,)]


@pytest.mark.parametrize("persist", ["", "persist = true"])
def test_a_count_of_a_window_that_no_collector_takes_any_more_costs_nothing(tmp_path: Path, persist: str) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=counting(persist), clock=clock) as device:
        device.count("m", 3)
        clock.now_s = TODAY.ends_at + GRACE_S
        assert device.flush(timeout_s=LONG_S)
        assert device.budget().lifetime_spent == 0.0
    assert rows(tmp_path, "SELECT COUNT(*) FROM counts") == [(0,)]


def test_a_count_whose_report_was_rolled_back_is_reported_by_the_next_transaction() -> None:
    registry = counting()
    schedule, ledger_thread = Schedule(registry, SystemCoins()), LedgerThread(None, lambda: open_memory("acme"))
    schedule.dues.counts.add(registry.metric("m"), TODAY, 4)

    def begin_and_fail(connection: Any) -> None:
        schedule.catch_up(connection, TODAY.ends_at)
        raise ZeroDivisionError

    with pytest.raises(Exception, match="ZeroDivisionError"):
        ledger_thread.run(begin_and_fail, LONG_S)
    assert ledger_thread.run(charges.lifetime_nanos, LONG_S) == 0
    for _ in range(2):
        ledger_thread.run(lambda connection: schedule.catch_up(connection, TODAY.ends_at), LONG_S)
    queued = ledger_thread.run(
        lambda connection: connection.execute("SELECT symbol FROM queue").fetchall(), LONG_S, begin=BARE
    )
    assert queued == [(4,)]
    assert schedule.dues.counts.ended(registry, TODAY.ends_at) == []
    ledger_thread.close(LONG_S)


def test_a_sum_waits_for_a_random_instant_after_its_window(tmp_path: Path) -> None:
    clock, coins = SetClock(), ScriptedCoins([False, True, 0, 4711])
    with telemetry(tmp_path, registry=counting(), clock=clock, coins=coins) as device, coins:
        device.count("m")
        clock.now_s = TODAY.ends_at
        device.flush(timeout_s=LONG_S)
        assert coins.requests[-1] == ("below", RELEASE_SPREAD_S)
        assert rows(tmp_path, "SELECT release FROM queue") == [(TODAY.ends_at + 4711,)]


def holds(data_dir: Path) -> bool:
    """Whether any file of a device holds the marked count, as SQLite stores integers."""
    return MARKED.to_bytes(6, "big") in all_bytes(data_dir)


def test_a_count_in_memory_reaches_no_file(tmp_path: Path) -> None:
    with telemetry(tmp_path, registry=marked("")) as device:
        assert device.count("m", MARKED) is Recorded.COUNTED
        assert not holds(tmp_path)
    assert not holds(tmp_path)


def test_a_count_that_persists_stands_in_the_file_until_its_window_is_reported_and_no_longer(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=marked("persist = true"), clock=clock) as device:
        assert device.count("m", MARKED - 5) is Recorded.COUNTED
        assert device.count("m", 5) is Recorded.COUNTED
        assert holds(tmp_path)
        clock.now_s = TODAY.ends_at
        assert device.flush(timeout_s=LONG_S)
        assert not holds(tmp_path)
    assert not holds(tmp_path)


@pytest.mark.parametrize("persist", ["", "persist = true"])
def test_opting_out_forgets_what_was_counted(tmp_path: Path, persist: str) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=marked(persist), clock=clock) as device:
        device.count("m", MARKED)
        device.forget()
        assert not holds(tmp_path)
        assert device._schedule.dues.counts.ended(marked(persist), TODAY.ends_at) == []


WITHOUT = ask('[metric.yes]\nkind = "boolean"')
UPDATES = {"removed": WITHOUT, "kept in memory from now on": marked("")}


@pytest.mark.parametrize("update", UPDATES)
def test_a_start_without_consent_wipes_counts_whatever_the_update_asks(tmp_path: Path, update: str) -> None:
    with telemetry(tmp_path, registry=marked("persist = true")) as device:
        assert device.count("m", MARKED) is Recorded.COUNTED
    assert holds(tmp_path)
    with telemetry(tmp_path, registry=UPDATES[update], consent=False):
        pass
    assert not holds(tmp_path)


@pytest.mark.parametrize("update", UPDATES)
def test_nothing_is_left_of_an_ended_count_that_an_update_no_longer_keeps(tmp_path: Path, update: str) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=marked("persist = true"), clock=clock) as device:
        assert device.count("m", MARKED) is Recorded.COUNTED
    with telemetry(tmp_path, registry=UPDATES[update], clock=clock) as device:
        assert device.flush(timeout_s=LONG_S)
        assert holds(tmp_path)
        clock.now_s = TODAY.ends_at
        assert device.flush(timeout_s=LONG_S)
        assert not holds(tmp_path)
