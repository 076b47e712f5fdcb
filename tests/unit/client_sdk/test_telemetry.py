"""Telemetry in one process: every result, the budget, history and opting out."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from client_sdk import (
    HistoryEntry,
    LedgerError,
    OutsideDomainError,
    Recorded,
    Telemetry,
    UnknownMetricError,
    ledger,
)
from client_sdk import (
    telemetry as telemetry_module,
)
from client_sdk.ledger_file import BUSY_TIMEOUT_S, FILE_NAME
from client_sdk.spec import Refusal, Report
from tests.support.clients import (
    DAY_S,
    NOON,
    RARE,
    ScriptedTransport,
    SetClock,
    all_bytes,
    many,
    nothing,
    refuse,
    registry,
    rows,
    telemetry,
    write_lock_held,
)
from tests.support.coins import ScriptedCoins

TODAY = "2026-11-20"


@pytest.fixture(params=["file", "memory"])
def data_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "data" if request.param == "file" else None


def edition(metric: str) -> str:
    return registry().metric(metric).edition


def test_an_answer_is_queued_and_a_second_one_changes_nothing(data_dir: Path | None) -> None:
    transport = ScriptedTransport()
    with telemetry(data_dir, transport=transport, coins=ScriptedCoins([True, False])) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        spent = device.budget()
        assert device.record("dark_mode", value=True) is Recorded.ALREADY_RECORDED
        assert device.budget() == spent
        assert device.flush(timeout_s=60) is True
    assert transport.uploads[0].reports == (Report("dark_mode", edition("dark_mode"), TODAY, 1),)


def test_a_window_takes_a_report_of_its_own(data_dir: Path | None) -> None:
    clock = SetClock()
    with telemetry(data_dir, clock=clock) as device:
        assert device.record("size", 3) is Recorded.QUEUED
        clock.now_s += DAY_S
        assert device.record("size", 3) is Recorded.QUEUED


def test_the_symbol_is_what_the_channel_makes_of_the_coins() -> None:
    transport = ScriptedTransport()
    coins = ScriptedCoins([False, 0])
    with telemetry(None, transport=transport, coins=coins) as device, coins:
        device.record("system", "macos")
        device.flush(timeout_s=60)
    assert transport.uploads[0].reports[0].symbol == 2


def test_the_ceilings_hold_to_the_billionth(data_dir: Path | None) -> None:
    clock, cost = SetClock(), registry().metric("dark_mode").epsilon_nanos
    with telemetry(data_dir, clock=clock) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        assert device.record("sound", value=True) is Recorded.QUEUED
        assert device.record("wide", value=True) is Recorded.OUT_OF_BUDGET
        status = device.budget()
        assert Fraction(2 * cost, 10**9) <= Fraction(status.window_spent)
        assert Fraction(status.window_spent) - Fraction(2 * cost, 10**9) < Fraction(1, 10**9)
        assert (status.window, status.window_ceiling, status.lifetime_ceiling) == (TODAY, 2.5, 4.0)
        clock.now_s += DAY_S
        assert device.record("wide", value=True) is Recorded.QUEUED
        assert device.record("dark_mode", value=True) is Recorded.OUT_OF_BUDGET
        assert device.budget().window_spent < device.budget().lifetime_spent
        assert device.record("size", 3) is Recorded.QUEUED


def test_a_metric_is_asked_until_its_last_day(data_dir: Path | None) -> None:
    with telemetry(data_dir, clock=SetClock(NOON - DAY_S)) as device:
        assert device.record("old", value=True) is Recorded.QUEUED
    with telemetry(data_dir) as device:
        assert device.record("old", value=True) is Recorded.EXPIRED


def test_without_consent_nothing_is_made(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    with telemetry(tmp_path / "data", consent=False, transport=transport) as device:
        assert device.consent is False
        assert device.record("dark_mode", value=True) is Recorded.NO_CONSENT
        assert device.flush(timeout_s=60) is True
        assert (device.history(), device.dropped(), device.problem) == ([], {}, None)
        assert device.budget().lifetime_spent == 0.0
        device.forget()
    assert not (tmp_path / "data").exists()
    assert transport.bodies == []


def test_what_was_recorded_before_can_be_read_without_consent_and_is_not_sent(tmp_path: Path) -> None:
    with telemetry(tmp_path) as device:
        device.record("dark_mode", value=True)
    transport = ScriptedTransport()
    with telemetry(tmp_path, consent=False, transport=transport) as device:
        assert device.budget().lifetime_spent > 0
        assert device.flush(timeout_s=60) is False
    assert transport.bodies == []


def test_a_closed_one_records_nothing(data_dir: Path | None) -> None:
    device = telemetry(data_dir)
    device.record("dark_mode", value=True)
    device.close()
    device.close()
    assert device.record("sound", value=True) is Recorded.CLOSED
    assert device.flush(timeout_s=60) is False
    with pytest.raises(LedgerError, match="is closed"):
        device.history()


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_while_another_process_holds_the_ledger_the_answer_is_busy(
    tmp_path: Path, real_deadline: float, *, stopped: bool
) -> None:
    assert BUSY_TIMEOUT_S < real_deadline < 0.1
    with telemetry(tmp_path) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        with write_lock_held(tmp_path, stopped=stopped):
            assert device.record("sound", value=True) is Recorded.BUSY
            assert device.budget().lifetime_spent > 0
        assert device.problem is None
        assert device.record("sound", value=True) is Recorded.QUEUED


def test_while_the_disk_hangs_the_answer_is_busy_and_nothing_is_charged(
    data_dir: Path | None, real_deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    charge = ledger.charge

    def hang(*arguments: Any) -> Recorded:
        assert release.wait(60)
        return charge(*arguments)

    with telemetry(data_dir) as device:
        device.budget()
        monkeypatch.setattr(telemetry_module, "RECORD_DEADLINE_S", real_deadline)
        monkeypatch.setattr(ledger, "charge", hang)
        assert device.record("dark_mode", value=True) is Recorded.BUSY
        assert device.record("sound", value=True) is Recorded.BUSY
        release.set()
        assert device.budget().lifetime_spent == 0.0


@pytest.mark.parametrize("now_s", [-1e9, 1e12, 1e300, float("inf"), float("nan")])
def test_a_clock_that_is_out_by_years_records_nothing(now_s: float) -> None:
    clock = SetClock(now_s)
    with telemetry(None, clock=clock) as device:
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        assert "clock" in (device.problem or "")
        with pytest.raises(LedgerError, match="clock"):
            device.budget()
        clock.now_s = NOON
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        assert device.problem is None


def test_every_result_is_met_by_a_test() -> None:
    source = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [recorded.name for recorded in Recorded if f"Recorded.{recorded.name}" not in source] == []


@pytest.mark.parametrize("consent", [True, False])
@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("dark_mode", "secret-31415"),
        ("system", "secret-31415"),
        ("size", 31415.9),
        ("size", 31415 * 10**400),
        ("size", Decimal("3.1415e3")),
        ("size", "secret-31415"),
        ("unknown", "secret-31415"),
        ("unknown", 31415),
    ],
)
def test_a_programmer_error_does_not_hold_the_answer(metric: str, value: object, *, consent: bool) -> None:
    with telemetry(None, consent=consent) as device:
        with pytest.raises((OutsideDomainError, UnknownMetricError)) as caught:
            device.record(metric, value)
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None
        assert "31415" not in str(error) + repr(error) + repr(vars(error))
        assert error.__traceback__ is not None
        below = traceback.TracebackException(
            type(error), error, error.__traceback__.tb_next, capture_locals=True, compact=True
        )
        assert len(below.stack) == 1
        assert "31415" not in "".join(below.format())
        assert device.history() == []


def test_whatever_else_an_answer_does_neither_crashes_nor_shows(caplog: pytest.LogCaptureFixture) -> None:
    class Hostile(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise ZeroDivisionError(RARE)

    with telemetry(None) as device:
        assert device.record("system", Hostile(RARE)) is Recorded.UNAVAILABLE
    assert "ZeroDivisionError" in caplog.text
    assert RARE not in caplog.text


def test_the_true_value_is_in_no_file_and_no_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    transport = ScriptedTransport(nothing, refuse(Refusal.UNKNOWN_METRIC), refuse(Refusal.WINDOW_CLOSED))
    with telemetry(tmp_path, transport=transport) as device:
        device.record("system", RARE)
        assert RARE.encode() not in all_bytes(tmp_path)
        device.flush(timeout_s=60)
        assert RARE.encode() not in all_bytes(tmp_path)
        assert device.history()
    assert RARE.encode() not in all_bytes(tmp_path) + b"".join(transport.bodies)
    assert RARE not in caplog.text


def test_history_tells_what_left_and_what_became_of_it(data_dir: Path | None) -> None:
    with telemetry(data_dir, coins=ScriptedCoins([True])) as device:
        device.record("dark_mode", value=True)
        assert device.history() == []
        device.flush(timeout_s=60)
        assert device.history() == [HistoryEntry("dark_mode", edition("dark_mode"), TODAY, 1, "accepted")]
        assert device.dropped() == {}


def test_drops_are_counted(data_dir: Path | None) -> None:
    with telemetry(data_dir, transport=ScriptedTransport(refuse(Refusal.WINDOW_CLOSED))) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s=60) is True
        assert device.dropped() == {"window_closed": 1}
        assert device.history()[0].outcome == "window_closed"


def test_what_waited_when_it_was_closed_is_sent_by_the_next_run(tmp_path: Path) -> None:
    with telemetry(tmp_path, transport=ScriptedTransport(nothing)) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s=0.1) is False
    transport = ScriptedTransport()
    with telemetry(tmp_path, transport=transport) as device:
        assert device.flush(timeout_s=60) is True
    assert [report.metric for report in transport.uploads[0].reports] == ["dark_mode"]


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Telemetry]:
    """Yield a device with something in every table: 20 reports sent and refused, 20 waiting."""
    device = telemetry(tmp_path, registry=many(40), transport=ScriptedTransport(refuse(Refusal.WINDOW_CLOSED), nothing))
    with device:
        for number in range(20):
            device.record(f"m{number}", value=True)
        device.flush(timeout_s=60)
        for number in range(20, 40):
            device.record(f"m{number}", value=True)
        yield device


def test_forgetting_leaves_nothing_in_any_file_but_what_was_spent(used: Telemetry, tmp_path: Path) -> None:
    ((secret,),) = rows(tmp_path, "SELECT secret FROM device")
    wiped = (secret, b"window_closed", b'{"upload":"')
    before = all_bytes(tmp_path)
    assert all(content in before for content in wiped)
    spent = used.budget()
    used.forget()
    after = all_bytes(tmp_path)
    assert not any(content in after for content in wiped)
    assert rows(tmp_path, "SELECT COUNT(*) FROM charges") == [(40,)]
    # The day of a charge is its window and its budget window, in row and index: no other row is left.
    assert after.count(TODAY.encode()) == 4 * 40
    assert (used.history(), used.dropped(), used.budget()) == ([], {}, spent)


def test_after_forgetting_there_is_no_consent_and_nothing_is_sent(used: Telemetry) -> None:
    used.forget()
    assert used.consent is False
    assert used.record("m0", value=True) is Recorded.NO_CONSENT
    assert used.flush(timeout_s=60) is True


def test_opting_in_again_renews_no_budget(tmp_path: Path) -> None:
    with telemetry(tmp_path) as device:
        device.record("dark_mode", value=True)
        device.record("sound", value=True)
        device.forget()
    ((secret,),) = rows(tmp_path, "SELECT secret FROM device")
    assert secret is None
    with telemetry(tmp_path) as device:
        assert device.record("dark_mode", value=True) is Recorded.ALREADY_RECORDED
        assert device.record("wide", value=True) is Recorded.OUT_OF_BUDGET
    ((secret,),) = rows(tmp_path, "SELECT secret FROM device")
    assert len(secret) == 32


def test_forgetting_in_memory_wipes_too() -> None:
    with telemetry(None) as device:
        device.record("dark_mode", value=True)
        device.flush(timeout_s=60)
        device.forget()
        assert device.history() == []
        assert device.budget().lifetime_spent > 0


def test_forgetting_while_another_process_holds_the_ledger_says_to_try_again(used: Telemetry, tmp_path: Path) -> None:
    with write_lock_held(tmp_path), pytest.raises(LedgerError, match="again"):
        used.forget()
    assert used.consent is False
    used.forget()
    assert rows(tmp_path, "SELECT COUNT(*) FROM queue") == [(0,)]


def test_a_collector_that_is_no_address_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="must be a URL"):
        Telemetry(registry(), collector="telemetry", data_dir=None, consent=True)


def test_the_file_has_the_documented_name(tmp_path: Path) -> None:
    with telemetry(tmp_path) as device:
        device.record("dark_mode", value=True)
        assert (tmp_path / FILE_NAME).exists()
    assert FILE_NAME == "hearsay.sqlite3"
