"""Functions that an app provides: when they are called, and what becomes of what they return."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from client_sdk import Recorded, Telemetry, UnknownMetricError
from client_sdk.answers import provider
from client_sdk.answers.provider import CALL_S, HELD_S
from client_sdk.ledger.charges import Slot
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.testing import FakeClock, call_due
from tests.support.devices.clients import DAY_S, ScriptedTransport, SetClock, ask, in_child, rows, telemetry
from tests.support.services.processes import wait_until

SURE = '[metric.m]\nkind = "boolean"\nepsilon = 20\n'
"""An epsilon at which the report is the answer, except once in 10**8."""

KINDS = {
    "plain": SURE,
    "filled in": f"{SURE}fill_in = true\n",
    "category": '[metric.m]\nkind = "category"\nvalues = ["a", "b"]\nepsilon = 20\n',
    "permanent": f"{SURE}permanent_epsilon = 20\n",
    "vector": '[metric.m]\nkind = "vector"\nlength = 4\nnorm = 1\nepsilon = 4\n',
}
DAY = timedelta(days=1)


class Provided:
    def __init__(self, answer: object = True) -> None:  # noqa: FBT002 an answer
        self.calls = 0
        self._answer = answer

    def __call__(self) -> object:
        self.calls += 1
        return self._answer


def device(folder: Path | None, table: str = SURE, **changes: object) -> Telemetry:
    return telemetry(folder, registry=ask(table), clock=changes.pop("clock", FakeClock()), **changes)


def queued(folder: Path) -> list[tuple[str, int]]:
    return rows(folder, "SELECT window, symbol FROM queue ORDER BY window")


def test_a_function_is_called_once_in_each_window_and_its_answer_is_reported(tmp_path: Path) -> None:
    clock, function = FakeClock(), Provided()
    with device(tmp_path, clock=clock) as app:
        app.provide("m", function)
        for _ in range(2):
            call_due(app)
            call_due(app)
            clock.advance(DAY)
    assert function.calls == 2
    assert queued(tmp_path) == [("2026-07-01", 1), ("2026-07-02", 1)]
    assert rows(tmp_path, "SELECT reported FROM charges") == [(Slot.REPORTED,)] * 2


def test_a_command_that_is_over_in_a_moment_has_its_answer(tmp_path: Path) -> None:
    for answer in (True, False):
        with device(tmp_path / str(answer)) as app:
            app.provide("m", Provided(answer))
        assert queued(tmp_path / str(answer)) == [("2026-07-01", int(answer))]


@pytest.mark.parametrize("table", KINDS.values(), ids=KINDS)
def test_the_report_is_charged_and_queued_before_the_call(tmp_path: Path, table: str) -> None:
    seen: list[object] = []

    def function() -> object:
        seen.extend(rows(tmp_path, "SELECT reported, (SELECT COUNT(*) FROM queue) FROM charges"))
        return True

    with device(tmp_path, table) as app:
        app.provide("m", function)
        call_due(app)
    assert seen == [(Slot.AWAITED, 1)]


def test_a_function_that_ends_the_process_takes_no_report_along(tmp_path: Path) -> None:
    def live() -> None:
        app = device(tmp_path)
        app.provide("m", lambda: os._exit(0))

    in_child(live)
    assert len(queued(tmp_path)) == 1


def test_of_several_processes_one_calls(tmp_path: Path) -> None:
    function = Provided()
    with device(tmp_path) as first, device(tmp_path) as second:
        for app in (first, second):
            app.provide("m", function)
            call_due(app)
    assert function.calls == 1
    assert len(queued(tmp_path)) == 1


def test_a_metric_that_this_device_does_not_answer_is_not_called_for(tmp_path: Path) -> None:
    budget = 'strategy = "sample"\nanswers = 1\n'
    two = ask(SURE + SURE.replace("[metric.m]", "[metric.n]"), budget)
    functions = {"m": Provided(), "n": Provided()}
    with telemetry(tmp_path, registry=two, clock=FakeClock()) as app:
        for name, function in functions.items():
            app.provide(name, function)
    assert sum(function.calls for function in functions.values()) == 1


def test_a_flush_sends_the_report_only_when_the_answer_is_in_it(tmp_path: Path) -> None:
    clock, transport = FakeClock(), ScriptedTransport()
    with device(tmp_path, clock=clock, transport=transport) as app:
        app.provide("m", Provided())
        assert not app.flush(60)
        call_due(app)
        assert not app.flush(60)
        clock.advance(timedelta(seconds=HELD_S))
        assert app.flush(60)
    assert [report.symbol for report in transport.reports] == [1]


@pytest.mark.slow
def test_the_report_leaves_within_a_minute_after_its_answer_may_have_come(tmp_path: Path) -> None:
    for life in range(20):
        clock = FakeClock()
        with device(tmp_path / str(life), clock=clock) as app:
            app.provide("m", Provided())
        ((release_s, leaves_s),) = rows(tmp_path / str(life), "SELECT release, leaves FROM queue")
        assert clock() + CALL_S < release_s <= leaves_s <= clock() + SPREAD_S


def answers_of(folder: Path, function: Callable[[], object], table: str) -> set[int]:
    """Return the symbols of twenty windows in which a function was called."""
    clock = FakeClock()
    with device(folder, table, clock=clock) as app:
        app.provide("m", function)
        for _ in range(20):
            call_due(app)
            clock.advance(DAY)
    return {symbol for _, symbol in queued(folder)}


def fails() -> object:
    raise OSError("a canary")


@pytest.mark.parametrize("function", [Provided(None), Provided("neither"), fails], ids=["None", "invalid", "raises"])
def test_without_an_answer_a_random_one_is_reported(tmp_path: Path, function: Callable[[], object]) -> None:
    assert answers_of(tmp_path, function, SURE) == {0, 1}  # otherwise once in half a million runs


@pytest.mark.parametrize("function", [Provided(None), fails], ids=["None", "raises"])
def test_without_an_answer_a_metric_that_is_filled_in_says_so(tmp_path: Path, function: Callable[[], object]) -> None:
    assert answers_of(tmp_path, function, KINDS["filled in"]) == {2}


def test_an_answer_after_five_seconds_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = SetClock(0.0)
    monkeypatch.setattr(provider, "time", SimpleNamespace(monotonic=now))
    begun, over = threading.Event(), threading.Event()

    def function() -> object:
        begun.set()
        assert over.wait(60)
        return True

    with device(tmp_path, KINDS["filled in"]) as app:
        app.provide("m", function)
        assert begun.wait(60)
        now.now_s += CALL_S
        calls = app._processes.current.provider
        assert calls is not None
        with calls._changed:
            calls._changed.notify_all()
        wait_until(lambda: calls._provided["m"].call is None, what="the end of the call")
        over.set()
        for thread in threading.enumerate():
            if thread.name == "hearsay-provided":
                thread.join(60)
    assert [symbol for _, symbol in queued(tmp_path)] == [2]


def test_the_log_names_the_type_of_what_was_raised_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = []
    for answer in ("a canary", "another"):

        def function(answer: str = answer) -> object:
            raise ValueError(answer)

        caplog.clear()
        with device(tmp_path / answer) as app:
            app.provide("m", function)
        logs.append([(record.getMessage(), record.exc_info, record.stack_info) for record in caplog.records])
    assert logs[0] == logs[1] == [("the function provided for m raised ValueError", None, None)]


def test_without_consent_nothing_is_called_and_an_agreement_calls_at_once(tmp_path: Path) -> None:
    purposes = f'{SURE}consent = "usage"\n'
    function = Provided()
    with device(tmp_path, purposes, consent=False) as app:
        app.provide("m", function)
        call_due(app)
        app.consent = {"others"}
        call_due(app)
        assert function.calls == 0
        app.consent = {"usage"}
        wait_until(lambda: function.calls == 1, what="the call")


@pytest.mark.parametrize("ends", [Telemetry.forget, Telemetry.close], ids=["forget", "close"])
def test_after_the_end_nothing_is_called_or_taken_from_a_call(
    tmp_path: Path, ends: Callable[[Telemetry], None]
) -> None:
    clock, over = FakeClock(), threading.Event()
    app = device(tmp_path, KINDS["filled in"], clock=clock)
    app.provide("m", lambda: over.wait(60))  # True
    late = Provided()
    ends(app)
    over.set()
    clock.advance(DAY)
    app.provide("m", late)
    call_due(app)
    app.close()
    assert late.calls == 0
    assert [symbol for _, symbol in queued(tmp_path)] == ([2] if ends is Telemetry.close else [])


def test_what_an_app_records_itself_waits_for_the_next_window(tmp_path: Path) -> None:
    clock, function = FakeClock(), Provided()
    with device(tmp_path, clock=clock) as app:
        assert app.record("m", value=False) is Recorded.QUEUED
        app.provide("m", function)
        call_due(app)
        assert function.calls == 0
        clock.advance(DAY)
        call_due(app)
        assert app.record("m", value=False) is Recorded.ALREADY_RECORDED
    assert [symbol for _, symbol in queued(tmp_path)] == [0, 1]


def test_an_answer_that_comes_in_the_next_window_is_no_answer_of_it(tmp_path: Path) -> None:
    clock = FakeClock()
    clock.advance(timedelta(hours=11, minutes=59, seconds=58))
    over = threading.Event()
    with device(tmp_path, clock=clock) as app:
        app.provide("m", lambda: over.wait(60))
        clock.advance(timedelta(seconds=4))
        over.set()
        call_due(app)
    assert [window for window, _ in queued(tmp_path)] == ["2026-07-01", "2026-07-02"]
    assert rows(tmp_path, "SELECT COUNT(*) FROM charges") == [(2,)]


def test_a_name_that_the_registry_lacks_is_a_mistake(tmp_path: Path) -> None:
    with device(tmp_path, strict=True) as app, pytest.raises(UnknownMetricError):
        app.provide("n", Provided())
    with device(tmp_path) as app:
        app.provide("n", Provided())
        assert app.dropped() == {"unknown": 1}


def test_the_calls_of_a_population_are_spread_over_hours(tmp_path: Path) -> None:
    instants = set()
    for life in range(10):
        clock = FakeClock()
        with device(tmp_path / str(life), clock=clock) as app:
            app.provide("m", Provided())
            calls = app._processes.current.provider
            assert calls is not None
            instants.add(calls._provided["m"].due_s)
    midnight_s = FakeClock()() + DAY_S / 2
    assert all(midnight_s <= instant_s < midnight_s + DAY_S / 4 for instant_s in instants)
    assert len(instants) > 1
