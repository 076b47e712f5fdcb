"""Silence reveals nothing: windows with and without an answer are reported alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from client_sdk import Recorded
from client_sdk.answers import dues, reporting
from client_sdk.answers.calendar import RELEASE_SPREAD_S
from client_sdk.answers.schedule import Schedule
from client_sdk.ledger import charges, outbox, status
from client_sdk.ledger.file import open_memory
from client_sdk.protocol import GRACE_S, Metric, Refusal, Registry, Verdict, Window, WindowKind
from tests.support.devices.clients import DAY_S, FILLED, NOON, SetClock, ask, telemetry
from tests.support.laws.coins import SteadyCoins

TODAY = Window.at(WindowKind.DAY, NOON)
HOUR_S = 3600

CERTAIN = 20
"""An epsilon at which the symbol is the encoded answer, except once in 10**8."""


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(open_memory("acme")) as connection:
        yield connection


def certain(table: str) -> Registry:
    return ask(f"[metric.m]\n{table}\nepsilon = {CERTAIN}\nfill_in = true")


def queue(connection: sqlite3.Connection) -> list[tuple[str, int, int]]:
    return connection.execute("SELECT window, symbol, release FROM queue ORDER BY window").fetchall()


def record(
    connection: sqlite3.Connection, schedule: Schedule, metric: Metric, answer: object, clock_s: float
) -> Recorded:
    randomized = schedule.randomize(metric, partial(metric.encode, answer), partial(schedule.learn_secret, connection))
    return schedule.record(connection, clock_s, metric, randomized)


@pytest.mark.parametrize("late_s", [0, 60, HOUR_S, DAY_S])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9999])
def test_real_and_filled_reports_leave_after_the_window_by_the_same_law(
    connection: sqlite3.Connection, share: float, late_s: int
) -> None:
    coins = SteadyCoins(share)
    schedule = Schedule(FILLED, coins)
    record(connection, schedule, FILLED.metric("m"), True, NOON)  # noqa: FBT003 the answer
    schedule.catch_up(connection, TODAY.ends_at + late_s)
    released = connection.execute("SELECT metric, release FROM queue WHERE window = ?", (TODAY.text,)).fetchall()
    assert dict(released) == dict.fromkeys("mn", TODAY.ends_at + coins.below(RELEASE_SPREAD_S))


def test_a_slot_has_its_report_from_the_transaction_on_that_opens_it_and_none_leaves_before_the_windows_end(
    connection: sqlite3.Connection,
) -> None:
    schedule = Schedule(FILLED, SteadyCoins(0.5))
    schedule.catch_up(connection, NOON)
    before = queue(connection)
    schedule.catch_up(connection, TODAY.ends_at - 1)
    assert queue(connection) == before
    assert [window for window, _, _ in before] == [TODAY.text] * 2
    assert outbox.new_parcel(connection, TODAY.ends_at - 1) is None
    assert dues.open_slots(connection) == []


@pytest.mark.parametrize("later_s", [0, GRACE_S - 1, GRACE_S, 9 * DAY_S])
def test_a_device_that_was_off_fills_in_however_late_as_what_was_recorded_is_sent_then(
    connection: sqlite3.Connection, later_s: int
) -> None:
    schedule = Schedule(FILLED, SteadyCoins(0.5))
    schedule.catch_up(connection, NOON)
    schedule.catch_up(connection, TODAY.ends_at + later_s)
    reported = [window for window, _, _ in queue(connection)]
    assert reported == [TODAY.text] * 2 + [Window.at(WindowKind.DAY, TODAY.ends_at + later_s).text] * 2


@pytest.mark.parametrize("comes_back", [False, True], ids=["on its way", "refused for the time being"])
def test_an_answer_after_its_report_has_left_changes_nothing(
    connection: sqlite3.Connection, *, comes_back: bool
) -> None:
    """Otherwise two reports of one window would be paid for once."""
    schedule, metric = Schedule(FILLED, SteadyCoins(0.5)), FILLED.metric("m")
    schedule.catch_up(connection, NOON)
    parcel = outbox.new_parcel(connection, TODAY.ends_at + RELEASE_SPREAD_S)
    assert parcel is not None
    if comes_back:
        refused = tuple((index, Refusal.UNKNOWN_EDITION) for index in range(len(parcel.reports)))
        outbox.settle(connection, parcel.id, Verdict(len(parcel.reports), refused), TODAY.ends_at, uniform=min)
        assert status.waiting(connection) > 0
    before = queue(connection)
    randomized = schedule.randomize(metric, partial(metric.encode, True), partial(schedule.learn_secret, connection))  # noqa: FBT003 the answer
    late = reporting.report(
        connection, FILLED, SteadyCoins(0.5), metric, randomized, window=TODAY, instant_s=TODAY.ends_at
    )
    assert late is Recorded.NOT_ASKED
    assert queue(connection) == before


@pytest.mark.parametrize(
    ("table", "answer", "recorded", "filled"),
    [
        ('kind = "boolean"', True, 1, 2),
        ('kind = "category"\nvalues = ["a", "b", "c"]', "b", 1, 3),
        ('kind = "count"\nmax = 5\nstatistic = "distribution"\nfill_value = 4', 2, 2, 4),
        ('kind = "number"\nlow = -1\nhigh = 3\nstatistic = "mean"\nmechanism = "one-bit"\nfill_value = 3', -1, 0, 1),
        ('kind = "number"\nlow = -1\nhigh = 3\nstatistic = "mean"\nmechanism = "one-bit"\nfill_value = -1', 3, 1, 0),
    ],
)
def test_what_is_filled_in_is_none_or_the_declared_value(
    connection: sqlite3.Connection, table: str, answer: object, recorded: int, filled: int
) -> None:
    registry = certain(table)
    schedule = Schedule(registry, SteadyCoins(0.5))
    record(connection, schedule, registry.metric("m"), answer, NOON)
    schedule.catch_up(connection, NOON + DAY_S)
    assert [symbol for _, symbol, _ in queue(connection)] == [recorded, filled]


@pytest.mark.parametrize("persist", ["", "persist = true"])
def test_what_was_counted_is_reported_and_not_what_is_filled_in(tmp_path: Path, persist: str) -> None:
    registry = certain(f'kind = "count"\nmax = 5\nstatistic = "distribution"\nfill_value = 4\n{persist}')
    clock = SetClock()
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        assert device.count("m", 2) is Recorded.COUNTED
        clock.now_s += DAY_S
        assert device.count("m", 3) is Recorded.COUNTED
        clock.now_s += 2 * DAY_S
        device.flush(timeout_s=60)
        history = {entry.window: entry.symbol for entry in device.history()}
    assert list(history.values()) == [2, 3]


def test_a_filled_permanent_answer_is_none_for_good(connection: sqlite3.Connection) -> None:
    registry = ask(f'[metric.m]\nkind = "boolean"\nfill_in = true\nepsilon = {CERTAIN}\npermanent_epsilon = {CERTAIN}')
    schedule = Schedule(registry, SteadyCoins(0.5))
    for day in range(4):
        schedule.catch_up(connection, NOON + day * DAY_S)
    assert [symbol for _, symbol, _ in queue(connection)] == [2] * 4
    assert charges.lifetime_nanos(connection) == 4 * registry.metric("m").epsilon_nanos


def test_what_fills_a_slot_of_an_earlier_edition_is_dropped(connection: sqlite3.Connection) -> None:
    Schedule(FILLED, SteadyCoins(0.5)).catch_up(connection, NOON)
    changed = ask('[metric.m]\nkind = "boolean"\nfill_in = true\nepsilon = 2')
    Schedule(changed, SteadyCoins(0.5)).catch_up(connection, TODAY.ends_at)
    waiting = connection.execute("SELECT edition, window FROM queue").fetchall()
    assert waiting == [(changed.metric("m").edition, Window.at(WindowKind.DAY, TODAY.ends_at).text)]


def test_a_slot_that_the_ceilings_do_not_allow_is_silent_whatever_is_recorded(connection: sqlite3.Connection) -> None:
    registry = ask('[metric.m]\nkind = "boolean"\nfill_in = true', "lifetime = 1")
    schedule = Schedule(registry, SteadyCoins(0.5))
    schedule.catch_up(connection, NOON)
    assert record(connection, schedule, registry.metric("m"), True, NOON + DAY_S) is Recorded.NOT_ASKED  # noqa: FBT003
    assert [window for window, _, _ in queue(connection)] == [TODAY.text]
