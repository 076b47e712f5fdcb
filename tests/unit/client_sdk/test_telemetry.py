"""Telemetry in one process: every result, the budget, history and opting out."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk import (
    FlushOutcome,
    HistoryEntry,
    LedgerError,
    OutsideDomainError,
    Recorded,
    RegistryError,
    Telemetry,
    UnknownMetricError,
    disclosure,
    recorder,
)
from client_sdk import telemetry as telemetry_module
from client_sdk.ledger import charges
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.file import BUSY_TIMEOUT_S, FILE_NAME
from client_sdk.ledger.thread import MAX_LEFT
from client_sdk.protocol import Refusal, Registry, Report, Upload
from client_sdk.protocol.statement import FOLDER, statement
from client_sdk.protocol.wire.failure import Failure
from client_sdk.results import SUPPRESSED
from client_sdk.sending.responses import Reply
from tests.support.core.tables import for_each
from tests.support.devices.clients import (
    DAY_S,
    NOON,
    RARE,
    REGISTRY,
    ScriptedTransport,
    SetClock,
    all_bytes,
    ask,
    busy_ledger,
    many,
    nothing,
    patient,
    refuse,
    registry,
    rows,
    telemetry,
    write_lock_held,
)
from tests.support.laws.coins import ScriptedCoins
from tests.support.services.processes import wait_until

TODAY = "2026-11-20"
SDK = Path(telemetry_module.__file__).parent


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
        assert device.flush(timeout_s=60)
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
        assert device.flush(timeout_s=60)
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
        assert not device.flush(timeout_s=60)
    assert transport.bodies == []


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("", "data_dir is empty; pass the path of a folder"),
        ("~/acme", "data_dir begins with ~"),
        (Path("~"), "data_dir begins with ~"),
        ("acme\0", "data_dir contains a NUL"),
    ],
)
def test_a_data_dir_that_is_no_folder_of_the_app_is_not_wherever_the_program_is_started(
    folder: str | Path, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=sentence):
        Telemetry(REGISTRY, collector="https://a.example", data_dir=folder, consent=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argument", ["registry", "data_dir", "upload_key"])
def test_an_argument_of_another_type_is_named(argument: str) -> None:
    arguments: dict[str, Any] = {"registry": Registry.parse(REGISTRY), "data_dir": None, argument: 3}
    with pytest.raises(TypeError, match=f"^{argument} must be "):
        Telemetry(collector="https://a.example", consent=True, **arguments)


def test_a_closed_one_records_nothing(data_dir: Path | None) -> None:
    device = telemetry(data_dir)
    device.record("dark_mode", value=True)
    device.close()
    device.close()
    assert device.record("sound", value=True) is Recorded.CLOSED
    assert not device.flush(timeout_s=60)
    with pytest.raises(LedgerError, match="is closed"):
        device.history()


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_while_another_process_holds_the_ledger_the_answer_waits(
    tmp_path: Path, real_deadline: float, *, stopped: bool
) -> None:
    assert BUSY_TIMEOUT_S < real_deadline < 0.1
    with telemetry(tmp_path) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        with write_lock_held(tmp_path, stopped=stopped), pytest.MonkeyPatch.context() as patch:
            patch.setattr(recorder, "RECORD_DEADLINE_S", real_deadline)
            assert device.record("sound", value=True) is Recorded.WAITING
            assert device.budget().lifetime_spent > 0
        wait_until(lambda: not device._processes.current.ledger_thread.has_left, what="the answer")
        assert device.problem is None
        assert device.record("sound", value=True) is Recorded.ALREADY_RECORDED
        assert device.dropped() == {}


def test_while_the_disk_hangs_the_answer_waits_and_is_recorded_afterwards(
    data_dir: Path | None, real_deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    charge = charges.charge

    def hang(*arguments: Any) -> bool:
        assert release.wait(60)
        return charge(*arguments)

    with telemetry(data_dir) as device:
        device.budget()
        monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", real_deadline)
        monkeypatch.setattr(charges, "charge", hang)
        assert device.record("dark_mode", value=True) is Recorded.WAITING
        assert device.record("sound", value=True) is Recorded.WAITING
        release.set()
        assert device.budget().lifetime_spent > 2
        assert device.dropped() == {}


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


def test_a_clock_that_raises_records_nothing_and_sees_no_answer() -> None:
    seen: list[str] = []

    def clock() -> float:
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(str(SDK)):
            frame = frame.f_back
            seen.append(repr(frame.f_locals))
        raise ZeroDivisionError

    with telemetry(None, clock=clock) as device:
        assert device.record("system", RARE) is Recorded.UNAVAILABLE
        assert "clock" in (device.problem or "")
    assert len(seen) > 1
    assert RARE not in "".join(seen).replace(repr(registry().metric("system")), "")


def out_of_budget(device: Telemetry) -> Recorded:
    device.record("dark_mode", value=True)
    device.record("sound", value=True)
    return device.record("wide", value=True)


def twice(device: Telemetry) -> Recorded:
    device.record("dark_mode", value=True)
    return device.record("dark_mode", value=True)


def after_forgetting(device: Telemetry) -> Recorded:
    device.forget()
    return device.record("dark_mode", value=True)


def while_the_ledger_thread_hangs(device: Telemetry) -> Recorded:
    with busy_ledger(device), pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "RECORD_DEADLINE_S", 0.0)
        return device.record("dark_mode", value=True)


def while_too_many_wait(device: Telemetry) -> Recorded:
    with busy_ledger(device), pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "RECORD_DEADLINE_S", 0.0)
        for _ in range(MAX_LEFT):
            assert device.record("dark_mode", value=True) is Recorded.WAITING
        return device.record("dark_mode", value=True)


def with_no_ledger(device: Telemetry) -> Recorded:
    device._processes.current.ledger_thread._open_ledger = lambda: 1 // 0  # type: ignore[assignment,return-value]
    return device.record("dark_mode", value=True)


def not_asked(_: Telemetry) -> Recorded:
    sampled = ask('[metric.a]\nkind = "boolean"\n[metric.b]\nkind = "boolean"', 'strategy = "sample"\nanswers = 1')
    with telemetry(None, registry=sampled) as device:
        results = {device.record(metric, value=True) for metric in "ab"}
    assert Recorded.QUEUED in results
    (other,) = results - {Recorded.QUEUED}
    return other


def stopped(_: Telemetry) -> Recorded:
    registry = ask('[metric.a]\nkind = "boolean"')
    listing = Registry.parse(f'stopped = ["a:{registry.metric("a").edition}"]\n{registry.source}')
    with telemetry(None, registry=listing) as device:
        return device.record("a", value=True)


def after_closing(device: Telemetry) -> Recorded:
    device.close()
    return device.record("dark_mode", value=True)


def while_suppressed(_: Telemetry) -> Recorded:
    with telemetry(None, consent=SUPPRESSED) as device:
        return device.record("dark_mode", value=True)


OCCASIONS: dict[Recorded, Callable[[Telemetry], Recorded]] = {
    Recorded.QUEUED: lambda device: device.record("dark_mode", value=True),
    Recorded.COUNTED: lambda device: device.count("taps"),
    Recorded.NOT_ASKED: not_asked,
    Recorded.STOPPED: stopped,
    Recorded.ALREADY_RECORDED: twice,
    Recorded.OUT_OF_BUDGET: out_of_budget,
    Recorded.NO_CONSENT: after_forgetting,
    Recorded.SUPPRESSED: while_suppressed,
    Recorded.EXPIRED: lambda device: device.record("old", value=True),
    Recorded.UNKNOWN: lambda device: device.record("color", value=True),
    Recorded.WAITING: while_the_ledger_thread_hangs,
    Recorded.BUSY: while_too_many_wait,
    Recorded.UNAVAILABLE: with_no_ledger,
    Recorded.CLOSED: after_closing,
}


@for_each("recorded", Recorded)
def test_every_result_has_its_occasion(recorded: Recorded) -> None:
    with telemetry(None) as device:
        assert OCCASIONS[recorded](device) is recorded


@pytest.mark.parametrize("consent", [True, False])
@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("dark_mode", "secret-31415"),
        ("system", "secret-31415"),
        ("size", [31415.9]),
        ("size", "secret-31415"),
        ("unknown", "secret-31415"),
        ("unknown", 31415),
    ],
)
def test_a_programmer_error_does_not_hold_the_answer(metric: str, value: object, *, consent: bool) -> None:
    with telemetry(None, consent=consent, strict=True) as device:
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


@pytest.mark.parametrize("metric", ["secret_31415", "secret 31415", "31415", 31415, ["31415"], {"31415"}])
@pytest.mark.parametrize("answer", [31415, "system", "systems"])
def test_an_answer_in_the_place_of_the_metric_is_not_shown(
    metric: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with telemetry(None) as device, telemetry(None, strict=True) as strict:
        assert device.record(metric, answer) is Recorded.UNKNOWN
        assert device.count(metric, answer) is Recorded.UNKNOWN
        assert device.active(metric) is Recorded.UNKNOWN
        assert device.dropped() == {"unknown": 3}
        assert caplog.text.count("pass the name first, then the answer") == 1
        assert "31415" not in caplog.text
        for call in (
            partial(strict.record, metric, answer),
            partial(strict.count, metric, answer),
            partial(strict.active, metric),
        ):
            with pytest.raises(UnknownMetricError, match="pass the name first, then the answer") as caught:
                call()
            assert "31415" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize(("metric", "value"), [("system", "secret-31415"), ("unknown", 31415)])
def test_the_thread_that_records_for_an_event_loop_raises_no_error(metric: str, value: object) -> None:
    with telemetry(None, strict=True) as device:  # from Python 3.14 on a frame of the executor holds the answer
        mistake = device._recorded_or_mistake(metric, value)
        assert isinstance(mistake, (OutsideDomainError, UnknownMetricError))
        assert (mistake.__traceback__, mistake.__context__) == (None, None)


def test_whatever_else_an_answer_does_neither_crashes_nor_shows(caplog: pytest.LogCaptureFixture) -> None:
    class Hostile(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise ZeroDivisionError(RARE)

    with telemetry(None) as device:
        assert device.record("system", Hostile(RARE)) is Recorded.QUEUED
        assert device.dropped() == {"invalid": 1}
    assert "ZeroDivisionError" not in caplog.text
    assert "metric 'system' expects" in caplog.text
    assert caplog.text.count(RARE) == 1  # the value that the registry lists


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
        assert device.history() == [HistoryEntry("dark_mode", edition("dark_mode"), TODAY, 1, "accepted", "true")]
        assert device.dropped() == {}


def test_drops_are_counted(data_dir: Path | None) -> None:
    with telemetry(data_dir, transport=ScriptedTransport(refuse(Refusal.WINDOW_CLOSED))) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s=60).outcome is FlushOutcome.REFUSED
        assert device.dropped() == {"window_closed": 1}
        assert device.history()[0].outcome == "window_closed"


def test_what_waited_when_it_was_closed_is_sent_by_the_next_run(tmp_path: Path) -> None:
    with telemetry(tmp_path, transport=ScriptedTransport(nothing)) as device:
        device.record("dark_mode", value=True)
        assert not device.flush(timeout_s=0.1)
    transport = ScriptedTransport()
    with telemetry(tmp_path, transport=transport) as device:
        assert device.flush(timeout_s=60)
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


def test_forgetting_while_the_file_is_made_leaves_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, begun, may_go_on = ledger_file.make, threading.Event(), threading.Event()

    def slowly(path: Path, app: str) -> None:
        begun.set()
        assert may_go_on.wait(60)
        make(path, app)

    monkeypatch.setattr(ledger_file, "make", slowly)
    with telemetry(tmp_path) as device:
        assert begun.wait(60)
        forgetting = threading.Thread(target=device.forget)
        forgetting.start()
        forgetting.join(0.2)  # it would be over
        may_go_on.set()
        forgetting.join()
    assert rows(tmp_path, "SELECT secret FROM device") == [(None,)]


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
    # A charge holds its window's day, and the first and last day that it may be, in the row and in
    # the index of days: no other row is left.
    assert after.count(TODAY.encode()) == 6 * 40
    assert (used.history(), used.dropped(), used.budget()) == ([], {}, spent)


def test_after_forgetting_there_is_no_consent_and_nothing_is_sent(used: Telemetry) -> None:
    used.forget()
    assert used.consent is False
    assert used.record("m0", value=True) is Recorded.NO_CONSENT
    assert used.flush(timeout_s=60)


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


def test_forgetting_while_another_process_holds_the_ledger_says_to_try_again(
    used: Telemetry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("client_sdk.consenting.FORGET_DEADLINE_S", 1.0)
    with write_lock_held(tmp_path), pytest.raises(LedgerError, match="again"):
        used.forget()
    assert used.consent is False
    used.forget()
    assert rows(tmp_path, "SELECT COUNT(*) FROM queue") == [(0,)]


def test_forgetting_during_an_upload_ends_the_thread_and_nothing_comes_back(tmp_path: Path) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang(upload: Upload) -> Reply | Failure | None:
        begun.set()
        assert release.wait(60)
        return refuse(Refusal.UNKNOWN_METRIC)(upload)

    with telemetry(tmp_path, transport=ScriptedTransport(hang)) as device:
        device.record("dark_mode", value=True)
        assert not device.flush(timeout_s=0)
        assert begun.wait(60)
        device.forget()
        release.set()
        device._processes.current.uploader.join(60)
        assert uploader_threads() == []
        for table in ("queue", "uploads", "history", "drops"):
            assert rows(tmp_path, f"SELECT COUNT(*) FROM {table}") == [(0,)]  # noqa: S608 the names are these


def uploader_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hearsay-uploader"]


def test_an_answer_that_waited_while_the_user_opted_out_is_not_recorded(tmp_path: Path) -> None:
    results: list[Recorded] = []
    with telemetry(tmp_path) as device:
        jobs = device._processes.current.ledger_thread._jobs
        with busy_ledger(device):
            before = jobs.qsize()
            recording = threading.Thread(target=lambda: results.append(device.record("dark_mode", value=True)))
            recording.start()
            wait_until(lambda: jobs.qsize() > before, what="the answer to wait")
            forgetting = threading.Thread(target=device.forget)
            forgetting.start()
            wait_until(lambda: not device.consent, what="the user to opt out")
        recording.join()
        forgetting.join()
        assert results == [Recorded.NO_CONSENT]
        assert device.budget().lifetime_spent == 0.0


def test_forgetting_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    leftover = tmp_path / f"{FILE_NAME}.0123456789abcdef.new"
    leftover.write_bytes(b"secret")
    with telemetry(tmp_path, consent=False) as device:
        device.forget()
    assert list(tmp_path.iterdir()) == []


@for_each("timeout_s", [float("inf"), 1e300, 10**400, threading.TIMEOUT_MAX])
@for_each("consent", [True, False])
def test_flush_may_be_given_all_the_time_there_is(timeout_s: float, *, consent: bool) -> None:
    with telemetry(None, consent=consent) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s)


@for_each("consent", [True, False])
@for_each("timeout_s", [None, "5", 5j])
def test_a_flush_for_what_is_no_number_is_a_mistake_whatever_is_agreed(timeout_s: Any, consent: bool) -> None:  # noqa: FBT001 a parameter
    with telemetry(None, consent=consent, strict=True) as strict, telemetry(None, consent=consent) as device:
        for _ in range(2):
            with pytest.raises(TypeError, match="timeout_s must be a number of seconds"):
                strict.flush(timeout_s)
            assert isinstance(device.flush(timeout_s).outcome, FlushOutcome)
            strict.close()
            device.close()


@pytest.mark.parametrize("timeout_s", [Fraction(60), Decimal(60)])
def test_any_number_of_seconds_is_one(timeout_s: Any) -> None:
    with telemetry(None) as device:
        device.record("dark_mode", value=True)
        assert device.flush(timeout_s)


@pytest.mark.parametrize("timeout_s", [0, 0.0, -1, float("nan"), float("-inf")])
@pytest.mark.parametrize("consent", [True, False])
def test_flush_may_be_given_no_time(tmp_path: Path, timeout_s: float, *, consent: bool) -> None:
    with telemetry(tmp_path) as device:
        device.record("dark_mode", value=True)
    with telemetry(tmp_path, consent=consent, transport=ScriptedTransport(nothing)) as device:
        assert not device.flush(timeout_s)


def test_flush_without_consent_returns_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disclosure, "READ_DEADLINE_S", 600.0)
    with telemetry(tmp_path) as device:
        device.record("dark_mode", value=True)
    with telemetry(tmp_path, consent=False) as device, busy_ledger(device):
        flushing = threading.Thread(target=device.flush, args=[0.01])
        flushing.start()
        flushing.join(30)
        assert not flushing.is_alive()


@pytest.mark.parametrize("consent", [True, False])
def test_a_path_that_cannot_be_is_no_exception_for_the_host(tmp_path: Path, *, consent: bool) -> None:
    with telemetry(tmp_path / ("x" * 300), consent=consent) as device:
        assert device.record("dark_mode", value=True) in (Recorded.UNAVAILABLE, Recorded.NO_CONSENT)
        assert not device.flush(timeout_s=60)
        for ask in (device.history, device.forget):
            with pytest.raises(LedgerError, match="File name too long"):
                ask()


def test_an_answer_that_waited_in_memory_is_sent() -> None:
    with telemetry(None) as device:
        assert device._processes.current.uploader._departures.news_s is None
        assert while_the_ledger_thread_hangs(device) is Recorded.WAITING
        wait_until(lambda: device._processes.current.uploader._departures.news_s is not None, what="its instant")
        assert device.flush(timeout_s=60)
        assert [entry.metric for entry in device.history()] == ["dark_mode"]


@pytest.mark.parametrize("data_dir", ["file"], indirect=True)
def test_where_no_thread_starts_nothing_raises(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_to_start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse_to_start)
    with telemetry(data_dir) as device:
        assert "cannot start a thread" in (device.problem or "")
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        assert not device.flush(timeout_s=60)
        monkeypatch.undo()
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        assert device.problem is None


def test_an_event_loop_records_without_waiting_and_its_errors_do_not_hold_the_answer(data_dir: Path | None) -> None:
    async def work() -> Recorded:
        with pytest.raises(OutsideDomainError) as caught:
            await device.arecord("system", "secret-31415")
        frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True, compact=True)
        assert all("31415" not in repr(frame.locals) for frame in frames.stack)
        return await device.arecord("system", RARE)

    with telemetry(data_dir, strict=True) as device:
        assert asyncio.run(work()) is Recorded.QUEUED


def test_without_a_thread_for_it_an_event_loop_records_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def shut_down(*_: object) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", shut_down)
    with telemetry(None) as device:
        assert asyncio.run(device.arecord("system", RARE)) is Recorded.QUEUED


@pytest.mark.slow
def test_dropping_it_ends_its_threads(data_dir: Path | None) -> None:
    before = set(threading.enumerate())
    device = telemetry(data_dir)
    device.record("dark_mode", value=True)
    threads = set(threading.enumerate()) - before
    assert {thread.name for thread in threads} == {"hearsay-ledger", "hearsay-uploader"}
    del device
    gc.collect()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


@for_each("consent", [None, 0, 1, "no", "yes", [], ["usage"], {1}, {"usage": True}, object()])
def test_consent_is_true_false_or_a_set_of_purposes_and_nothing_that_counts_as_such(consent: object) -> None:
    with pytest.raises(TypeError, match="True, False or a set of purposes"):
        telemetry(None, consent=consent)


def test_a_collector_that_is_no_address_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="must be a URL"):
        Telemetry(registry(), collector="telemetry", data_dir=None, consent=True)


def test_the_file_has_the_documented_name(tmp_path: Path) -> None:
    with telemetry(tmp_path) as device:
        device.record("dark_mode", value=True)
        assert (tmp_path / FILE_NAME).exists()
    assert FILE_NAME == "hearsay.sqlite3"


def test_the_statement_is_the_page_of_the_plan_with_the_folder_of_this_device(data_dir: Path | None) -> None:
    with telemetry(data_dir) as device:
        words = device.statement().replace(str(data_dir), FOLDER).split()
        assert words == statement(registry()).split()
        assert (str(data_dir) in device.statement()) == (data_dir is not None)


def test_the_commands_of_a_statement_work_with_any_folder() -> None:
    assert "    hearsay-client forget --data-dir 'my app'\n" in statement(registry(), folder="my app")


def test_without_consent_the_statement_can_be_read_and_makes_no_ledger(tmp_path: Path) -> None:
    with telemetry(tmp_path, consent=False) as device:
        assert "# What acme asks" in device.statement()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [Path, str])
def test_a_registry_may_be_named_by_its_path(kind: type[Path | str], tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY, encoding="utf-8")
    with telemetry(tmp_path / "data", registry=kind(path)) as device:
        assert patient(device, "dark_mode") is Recorded.QUEUED


def test_a_registry_with_mistakes_is_refused_by_its_path_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY.replace("epsilon", "epsilom", 1), encoding="utf-8")
    with pytest.raises(RegistryError, match=f'{path}:[0-9]+: metric.dark_mode.epsilom: .*did you mean "epsilon"'):
        telemetry(tmp_path / "data", registry=path)
    assert not (tmp_path / "data").exists()
