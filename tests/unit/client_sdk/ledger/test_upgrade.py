"""A ledger of schema 2 is upgraded: nothing is forgotten, and nothing can be spent again."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk import Recorded
from client_sdk.cli import main
from client_sdk.ledger import charges as ledger
from client_sdk.ledger import create, queue, stops, upgrade
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.file import FILE_NAME, open_file
from client_sdk.protocol import Registry, Report, Upload, Window, WindowKind
from client_sdk.protocol.wire.stopped import encode
from tests.support.devices import old_ledgers
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, accept, ask, rows, telemetry
from tests.support.devices.old_ledgers import OldCharge

EDITION = "0123456789ab"
TODAY = "2026-11-20"


KINDS = st.sampled_from(list(WindowKind))


@pytest.mark.slow
@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    lived=st.lists(st.tuples(st.integers(0, 5 * DAY_S), KINDS, KINDS, st.integers(1, 9)), max_size=25),
    opts_out_at=st.sets(st.integers(0, 24), max_size=3),
    later_s=st.integers(0, 40 * DAY_S),
)
def test_no_period_has_spent_less_than_the_days_that_it_holds(
    lived: list[tuple[int, WindowKind, WindowKind, int]], opts_out_at: set[int], later_s: int
) -> None:
    charges: list[OldCharge] = []
    spent: dict[date, int] = defaultdict(int)
    now_s = NOON
    for number, (step_s, budget_kind, kind, nanos) in enumerate(lived):
        now_s += step_s
        charges.append(old_ledgers.charged(number, now_s, budget_kind, kind, nanos))
        spent[Window.of(WindowKind.DAY, now_s).first_day] += nanos
        if number in opts_out_at:
            charges = old_ledgers.opted_out(charges, now_s)
    with contextlib.closing(create.connect(":memory:")) as connection:
        old_ledgers.fill(connection, charges, now_s)
        upgrade.upgrade(connection)
        for period in (Window.of(kind, now_s + later_s) for kind in WindowKind):
            held = sum(nanos for day, nanos in spent.items() if period.first_day <= day <= period.last_day)
            kept, _, life = ledger.spent_nanos(connection, Periods(period, period, period))
            assert held <= kept <= life == sum(spent.values())


def test_a_charge_whose_window_was_a_day_keeps_its_day(tmp_path: Path) -> None:
    charge = OldCharge("m", EDITION, "2026-11-18", "2026-W47", "2026-11", 5)
    old_ledgers.write(tmp_path / FILE_NAME, [charge], NOON)
    open_file(tmp_path / FILE_NAME, "acme", create=True).close()
    assert rows(tmp_path, "SELECT first_day, last_day FROM charges") == [("2026-11-18", "2026-11-18")]


@pytest.mark.parametrize(
    ("budget_window", "month", "window", "days"),
    [
        ("2026-W47", "2026-11", "2026-W47", ("2026-11-16", TODAY)),
        ("2026-11", "2026-11", "2026-W47", ("2026-11-16", TODAY)),
        ("2026-W45", "2026-11", "2026-W45", ("2026-11-02", "2026-11-08")),
        ("2026-W44", "2026-11", "2026-W44", ("2026-11-01", "2026-11-01")),
        ("", "2026-11", "sum  2026-11", ("2026-11-01", "2026-11-19")),
        ("2026-W47", "", "sum 2026-W47 ", ("2026-11-16", "2026-11-16")),
        ("", "", "sum  ", ("0001-01-01", "2026-10-31")),
    ],
)
def test_of_a_day_that_is_not_known_are_left_all_that_it_may_be(
    budget_window: str, month: str, window: str, days: tuple[str, str]
) -> None:
    assert upgrade.possible_days(budget_window, month, window, date(2026, 11, 20)) == days


DAILY = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"', "per_window = 1")
WEEKLY = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"', 'window = "week"\nper_window = 1')


@pytest.mark.parametrize("registry", [DAILY, WEEKLY], ids=["day", "week"])
def test_an_updated_app_continues_where_it_was(tmp_path: Path, registry: Registry) -> None:
    metric = registry.metric("m")
    window = Window.of(metric.window, NOON).text
    charge = OldCharge("m", metric.edition, window, TODAY, "2026-11", metric.epsilon_nanos)
    old_ledgers.write(tmp_path / FILE_NAME, [charge], NOON)
    ((secret,),) = rows(tmp_path, "SELECT secret FROM device")
    with telemetry(tmp_path, registry=registry) as device:
        assert device.record("m", value=True) is Recorded.ALREADY_RECORDED
        assert device.record("n", value=True) is Recorded.OUT_OF_BUDGET
        assert device.budget().lifetime_spent == metric.epsilon_nanos / 1e9
    assert rows(tmp_path, "SELECT secret, generation FROM device") == [(secret, 1)]
    assert rows(tmp_path, "PRAGMA user_version") == [(create.SCHEMA_VERSION,)]


def test_a_ledger_that_cannot_be_carried_over_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / FILE_NAME
    old_ledgers.write(path, [OldCharge("m", EDITION, TODAY, TODAY, "2026-11", 5)], NOON)
    before = rows(tmp_path, "SELECT * FROM charges")
    monkeypatch.setattr(create, "QUEUED_ONCE", "CREATE INDEX nonsense ON nowhere (nothing)")
    with pytest.raises(sqlite3.OperationalError):
        open_file(path, "acme", create=True)
    assert rows(tmp_path, "SELECT * FROM charges") == before
    assert rows(tmp_path, "PRAGMA user_version") == [(2,)]


def test_two_processes_that_carry_it_over_do_it_once(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    old_ledgers.write(path, [OldCharge("m", EDITION, TODAY, TODAY, "2026-11", 5)], NOON)
    open_file(path, "acme", create=True).close()
    before = rows(tmp_path, "SELECT * FROM charges")
    open_file(path, "acme", create=True).close()
    assert rows(tmp_path, "SELECT * FROM charges") == before == [("m", EDITION, TODAY, TODAY, TODAY, 5, 0, 1)]


def test_an_open_slot_of_an_earlier_version_is_filled_in_and_a_report_that_was_held_back_leaves(
    tmp_path: Path,
) -> None:
    registry = ask('[metric.m]\nkind = "boolean"\nfill_in = true\n[metric.n]\nkind = "boolean"\nfill_in = true')
    charges = [
        OldCharge(name, registry.metric(name).edition, TODAY, TODAY, "2026-11", 5, reported=reported)
        for name, reported in (("m", 1), ("n", 0))
    ]
    old_ledgers.write(tmp_path / FILE_NAME, charges, NOON)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute(
            "INSERT INTO queue (metric, edition, window, symbol, deadline, release) VALUES ('m', ?, ?, 1, ?, ?)",
            (registry.metric("m").edition, TODAY, int(NOON) + 9 * DAY_S, int(NOON) + DAY_S),
        )
        connection.execute("INSERT INTO slots VALUES (?)", (TODAY,))
    with telemetry(tmp_path, registry=registry) as device:
        device.flush(timeout_s=60)
    assert rows(tmp_path, "SELECT metric, window FROM queue ORDER BY metric") == [("m", TODAY), ("n", TODAY)]


def test_a_report_that_waits_in_a_ledger_of_version_3_may_leave_at_once(tmp_path: Path) -> None:
    path, report = tmp_path / FILE_NAME, Report("m", EDITION, TODAY, 1)
    open_file(path, "acme", create=True).close()
    with contextlib.closing(sqlite3.connect(path)) as earlier, earlier:
        earlier.executescript("ALTER TABLE queue DROP COLUMN leaves; DROP TABLE registries; DROP TABLE problems")
        earlier.executescript("DROP TABLE editions; ALTER TABLE device DROP COLUMN agrees")
        earlier.execute(
            "INSERT INTO queue (metric, edition, window, symbol, deadline, release) VALUES (?, ?, ?, ?, ?, 0)",
            (*report, int(NOON) + 9 * DAY_S),
        )
        earlier.execute("PRAGMA user_version = 3")
    before = rows(tmp_path, "SELECT * FROM device")
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        assert [waiting.report for waiting in queue.due(connection, NOON, hurried=False)] == [report]
    assert rows(tmp_path, "SELECT * FROM device") == [(*columns, 1) for columns in before]
    assert rows(tmp_path, "PRAGMA user_version") == [(create.SCHEMA_VERSION,)]


def test_a_ledger_of_version_4_learns_of_stops_and_keeps_what_waits(tmp_path: Path) -> None:
    path, registry = tmp_path / FILE_NAME, ask('[metric.m]\nkind = "boolean"')
    question = "m", registry.metric("m").edition
    with telemetry(tmp_path, registry=registry) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        connection.executescript("ALTER TABLE device DROP COLUMN agrees; DROP TABLE editions; PRAGMA user_version = 4")
    transport = ScriptedTransport(lambda upload: accept(upload)._replace(stopped=encode([question])))
    with telemetry(tmp_path, registry=registry, transport=transport) as device:
        assert device.flush(timeout_s=60)
    with contextlib.closing(open_file(path, "acme", create=True)) as connection:
        assert stops.stopped(connection) == [question]
    assert len(transport.uploads) == 1
    assert rows(tmp_path, "PRAGMA user_version") == [(create.SCHEMA_VERSION,)]


def test_an_earlier_version_that_still_runs_cannot_report_a_second_time(tmp_path: Path) -> None:
    with contextlib.closing(open_file(tmp_path / FILE_NAME, "acme", create=True)) as connection:
        queue.enqueue(connection, Report("m", EDITION, TODAY, 1), int(NOON))
        with pytest.raises(sqlite3.IntegrityError):
            queue.enqueue(connection, Report("m", EDITION, TODAY, 0), int(NOON))


def test_what_waits_in_a_ledger_of_an_earlier_version_is_sent_and_can_be_forgotten(tmp_path: Path) -> None:
    registry = ask('[metric.m]\nkind = "boolean"')
    report = Report("m", registry.metric("m").edition, TODAY, 1)
    upload = Upload("0123456789abcdef" * 2, (report,))
    path = tmp_path / FILE_NAME
    old_ledgers.write(path, [OldCharge(*report[:3], TODAY, "2026-11", 5)], NOON)
    with contextlib.closing(sqlite3.connect(path)) as earlier, earlier:
        earlier.execute(
            "INSERT INTO uploads VALUES (?, ?, ?, 1, 0)", (upload.id, upload.encode(), int(NOON) + 9 * 86_400)
        )
        earlier.execute("INSERT INTO history VALUES (?, ?, ?, ?, 'no answer yet')", report)
    with telemetry(tmp_path, registry=registry) as device:
        assert [entry.outcome for entry in device.history()] == ["sent"]
        assert device.flush(60)
        assert [entry.outcome for entry in device.history()] == ["accepted"]
    assert main(["forget", "--data-dir", str(tmp_path)]) == 0
    assert rows(tmp_path, "SELECT * FROM history") == []
