"""Opting out keeps what was spent, but no question or day of past windows."""

from __future__ import annotations

import random
import sqlite3
from datetime import date, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from client_sdk import Recorded
from client_sdk.answers import participation
from client_sdk.ledger import charges, outbox, queue
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.erase import wipe, withdraw
from client_sdk.protocol import Report, Window, WindowKind
from client_sdk.protocol.budget import Cost
from client_sdk.protocol.window import GRACE_S
from tests.support.devices.clients import DAY_S, NOON, SetClock, all_bytes, ask, rows, telemetry

EDITION = "0123456789ab"
TODAY = "2026-11-20"

REGISTRY = ask(
    '[metric.daily]\nkind = "boolean"\n[metric.weekly]\nkind = "boolean"\nwindow = "week"\n'
    '[metric.filled]\nkind = "boolean"\nfill_in = true\n'
    '[metric.kept]\nkind = "boolean"\npermanent_epsilon = 2\n',
    "per_month = 30",
)


def test_wiping_leaves_nothing_but_charges_and_the_app(connection: sqlite3.Connection) -> None:
    charges.instant(connection, NOON)
    connection.execute("INSERT INTO charges VALUES ('m', ?, ?, ?, ?, 5, 7, 0)", (EDITION, TODAY, TODAY, TODAY))
    connection.execute("INSERT INTO counts VALUES ('m', ?, ?, 3)", (EDITION, TODAY))
    for number in range(3):
        queue.enqueue(connection, Report(f"m{number}", EDITION, TODAY, 1))
    parcel = outbox.new_parcel(connection, NOON)
    assert parcel is not None
    outbox.reject(connection, parcel.id)
    queue.enqueue(connection, Report("m4", EDITION, TODAY, 1))
    wipe(connection)
    assert {line for line in connection.iterdump() if line.startswith("INSERT")} == {
        f"INSERT INTO \"device\" VALUES('acme',NULL,NULL,NULL,1,{int(NOON)},NULL,NULL,0);",
        f"INSERT INTO \"charges\" VALUES('m','{EDITION}','{TODAY}','{TODAY}','{TODAY}',5,7,1);",
    }


def test_of_days_that_are_over_only_sums_are_left(tmp_path: Path) -> None:
    clock = SetClock(NOON - 3 * DAY_S)  # a Tuesday
    with telemetry(tmp_path, registry=REGISTRY, clock=clock) as device:
        for _ in range(4):
            for metric in ("daily", "weekly", "filled", "kept"):
                device.record(metric, value=True)
            clock.now_s += DAY_S
        clock.now_s -= DAY_S
        before = device.budget()
        device.forget()
        assert device.budget() == before
    assert rows(tmp_path, "SELECT metric, window FROM charges ORDER BY metric, window") == [
        ("", "sum 2026-11-16"),
        ("daily", TODAY),
        ("filled", TODAY),
        ("kept", TODAY),
        ("weekly", "2026-W47"),
    ]
    assert rows(tmp_path, "SELECT window FROM slots") == [(TODAY,)]
    left = all_bytes(tmp_path)
    assert not [day for day in ("2026-11-17", "2026-11-18", "2026-11-19") if day.encode() in left]


def test_opting_in_again_renews_neither_day_nor_week_nor_month_nor_life(tmp_path: Path) -> None:
    clock, spent = SetClock(NOON - 3 * DAY_S), []
    for _ in range(4):
        with telemetry(tmp_path, registry=REGISTRY, clock=clock) as device:
            device.record("daily", value=True)
            device.record("weekly", value=True)
            device.forget()
        with telemetry(tmp_path, registry=REGISTRY, clock=clock) as device:
            for metric in ("daily", "weekly"):
                assert device.record(metric, value=True) is Recorded.ALREADY_RECORDED
            spent.append(device.budget())
            device.forget()
        clock.now_s += DAY_S
    daily, weekly = (REGISTRY.metric(name).epsilon_nanos / 1e9 for name in ("daily", "weekly"))
    filled = REGISTRY.metric("filled").epsilon_nanos / 1e9
    for days, status in enumerate(spent, 1):
        assert status.lifetime_spent == status.month_spent == pytest.approx(days * (daily + filled) + weekly)


@pytest.mark.parametrize("kind", WindowKind)
def test_what_present_periods_have_spent_outlives_any_history(connection: sqlite3.Connection, kind: WindowKind) -> None:
    seeded, instant_s, names = random.Random(kind), NOON, count()  # noqa: S311 reproducible histories
    budget = ask('[metric.m]\nkind = "boolean"', f'window = "{kind}"\ndelta = 0.5').budget
    for _ in range(100):
        charges.instant(connection, instant_s)
        all_periods = [Periods.at(budget._replace(window=kind), instant_s) for kind in WindowKind]
        for window in (Window.at(seeded.choice(list(WindowKind)), instant_s) for _ in range(seeded.randint(0, 3))):
            cost = Cost(seeded.randint(0, 10**9), seeded.randint(0, 9))
            assert charges.charge(connection, (f"m{next(names)}", EDITION, window.text), cost, budget, all_periods[0])
        if seeded.randint(0, 4) == 0:
            before = [charges.spent_nanos(connection, periods) for periods in all_periods], attos(connection)
            wipe(connection)
            after = [charges.spent_nanos(connection, periods) for periods in all_periods], attos(connection)
            assert after == before
        instant_s += seeded.choice([0, DAY_S, DAY_S, 9 * DAY_S])
    wipe(connection)
    assert len(connection.execute("SELECT * FROM charges WHERE metric = ''").fetchall()) <= 4


@pytest.mark.parametrize("today", ["2026-11-20", "2026-11-23", "2026-12-02", "2027-01-01", "2027-02-03"])
def test_what_a_period_has_spent_that_can_still_be_charged_is_the_same_after_withdrawing(
    connection: sqlite3.Connection, today: str
) -> None:
    seeded, noon_s = random.Random(today), Window.parse(today).starts_at + DAY_S // 2  # noqa: S311 reproducible
    charges.instant(connection, noon_s)
    for number in range(60):  # an upgrade leaves charges of unknown days
        last = date.fromisoformat(today) - timedelta(days=seeded.randint(0, 40))
        first = last - timedelta(days=seeded.choice([0, 0, 2, 9, 30]))
        row = f"m{number}", EDITION, last.isoformat(), first.isoformat(), last.isoformat(), seeded.randint(1, 10**9)
        connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, 0, 1)", row)
    budgets = [ask('[metric.m]\nkind = "boolean"', f'window = "{kind}"').budget for kind in WindowKind]
    instants = [noon_s - late_s for late_s in range(0, GRACE_S + DAY_S, DAY_S)]
    chargeable = [Periods.at(budget, instant_s) for budget in budgets for instant_s in instants]
    before = [charges.spent_nanos(connection, periods) for periods in chargeable]
    for withdrawn in ({f"m{number}" for number in range(30)}, {f"m{number}" for number in range(60)}):
        withdraw(connection, partial(_is_outside, withdrawn))
        assert [charges.spent_nanos(connection, periods) for periods in chargeable] == before
    assert rows_of_metrics(connection) <= {today}


def _is_outside(names: set[str], name: str) -> bool:
    return name not in names


def rows_of_metrics(connection: sqlite3.Connection) -> set[str]:
    """Return the windows of the charges that name their question."""
    return {window for (window,) in connection.execute("SELECT window FROM charges WHERE metric <> ''")}


def test_what_was_counted_before_the_user_opted_out_and_in_elsewhere_is_not_reported(tmp_path: Path) -> None:
    registry = ask('[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\n[metric.m]\nkind = "boolean"\n')
    clock = SetClock()
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        assert device.count("taps", 5) is Recorded.COUNTED
        with telemetry(tmp_path, registry=registry, clock=clock) as other:
            other.forget()
        with telemetry(tmp_path, registry=registry, clock=clock) as other:
            assert other.record("m", value=True) is Recorded.QUEUED
        clock.now_s += DAY_S
        assert device.record("m", value=True) is Recorded.QUEUED
    assert {metric for (metric,) in rows(tmp_path, "SELECT metric FROM charges")} == {"m"}


LATER_S = Window.parse("2026-12-01").starts_at
"""The end of a stratum that began before today."""


@pytest.mark.parametrize(
    ("days_back", "end_s", "done", "kept"),
    [
        (9, LATER_S, 1, [(LATER_S, LATER_S, 1)]),
        (9, LATER_S, 0, []),
        (-2, LATER_S, 0, []),
        (9, int(NOON) - DAY_S, 1, []),
    ],
    ids=["took part", "was off", "would take part", "is over"],
)
def test_of_a_paced_device_opting_out_keeps_only_from_when_it_may_take_part_again(
    connection: sqlite3.Connection, days_back: int, end_s: int, done: int, kept: list[tuple[int, int, int]]
) -> None:
    charges.instant(connection, NOON)
    connection.execute("INSERT INTO stratum VALUES (?, ?, ?)", (NOON - days_back * DAY_S, end_s, done))
    wipe(connection)
    assert connection.execute("SELECT * FROM stratum").fetchall() == kept


def test_opting_out_and_in_lets_a_paced_device_take_part_once_a_stratum(connection: sqlite3.Connection) -> None:
    budget = 'strategy = "pace"\nlifetime = 500'  # enough for every day
    registry = ask('[metric.m]\nkind = "boolean"\nexpires = 2027-06-30', budget)
    charges.instant(connection, NOON)
    connection.execute("INSERT INTO stratum VALUES (?, ?, 1)", (NOON - DAY_S, LATER_S))
    wipe(connection)
    days = [Window.at(WindowKind.DAY, NOON + number * DAY_S) for number in range(20)]
    taken = [day.text for day in days if participation.drawn(connection, registry, day, bytes(32))]
    assert taken == [day.text for day in days if day.starts_at >= LATER_S]


def attos(connection: sqlite3.Connection) -> int:
    total: int = connection.execute("SELECT SUM(attos) FROM charges").fetchone()[0] or 0
    return total
