"""When a new report leaves: at a random instant in the ledger, whatever program runs then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk import Recorded
from client_sdk.ledger.backoff import jitter
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.per_process import REQUEST_DEADLINE_S
from client_sdk.protocol import Report
from client_sdk.sending.timing import Departures
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, accept, ask, rows, telemetry
from tests.support.devices.simulated import simulated
from tests.support.laws.coins import ScriptedCoins
from tests.support.services.processes import wait_until

REPORT = Report("m0", "0123456789ab", "2026-11-20", 1)
PLAIN = ask('[metric.m]\nkind = "boolean"\n[metric.n]\nkind = "boolean"')


def fixed(instant_s: float) -> Callable[[float, float], float]:
    """Return a source of jitter that always draws the same part of the spread."""
    return lambda low, high: low + (high - low) * instant_s / SPREAD_S


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    recorded_in_s=st.floats(0.0, 5.0),
    lives_s=st.floats(0.0, 30.0),
    away_s=st.floats(0.0, 200.0),
)
def test_a_report_leaves_at_the_first_moment_from_its_instant_on_at_which_a_program_runs(
    seed: int, recorded_in_s: float, lives_s: float, away_s: float
) -> None:
    with simulated([accept], seed) as device:
        device.run_until(NOON + recorded_in_s)
        before_s = device.now_s
        device.record(REPORT)
        (leaves_s,) = device.leaving()
        assert before_s <= leaves_s <= before_s + SPREAD_S
        ended_s = before_s + lives_s
        device.run_until(ended_s)
        device.skip_until(ended_s + away_s)
        device.run_until(ended_s + away_s + 2 * SPREAD_S)
        at_s = leaves_s if leaves_s <= ended_s else max(leaves_s, ended_s + away_s)
        assert [request.at_s for request in device.requests] == [pytest.approx(at_s, abs=1e-3)]


def test_the_instant_is_uniform_within_the_minute_and_from_the_operating_system() -> None:
    drawn = sorted(Departures(jitter).next_departure(1000.0, 0.0).leaves_s for _ in range(20_000))
    assert drawn[0] >= 0.0
    assert drawn[-1] <= SPREAD_S
    # Kolmogorov and Smirnov: a uniform sample exceeds this once in a million runs
    distance = max(abs((rank + 1) / len(drawn) - instant_s / SPREAD_S) for rank, instant_s in enumerate(drawn))
    assert distance < 2.7 / len(drawn) ** 0.5


@pytest.mark.parametrize("answer", [True, False])
def test_the_instant_is_drawn_before_the_answer_is_seen_and_for_any_alike(tmp_path: Path, *, answer: bool) -> None:
    with telemetry(tmp_path, registry=PLAIN, coins=ScriptedCoins([True])) as device:
        device._processes.current.uploader._departures.uniform = fixed(17.0)
        assert device.record("m", answer) is Recorded.QUEUED
    assert rows(tmp_path, "SELECT leaves FROM queue") == [(pytest.approx(NOON + 17.0),)]


def test_what_is_recorded_before_that_instant_leaves_with_it_and_what_comes_later_has_its_own() -> None:
    departures = Departures(fixed(40.0))
    first = departures.next_departure(1000.0, NOON)
    departures.notify(first)
    assert first == departures.next_departure(1039.0, NOON + 39.0) == (1040.0, NOON + 40.0)
    assert departures.next_departure(1040.0, NOON + 40.0) == (1080.0, NOON + 80.0)


def test_answers_recorded_in_one_go_leave_in_one_upload(tmp_path: Path) -> None:
    names = "abcde"
    five = ask("\n".join(f'[metric.{name}]\nkind = "boolean"' for name in names))
    with telemetry(tmp_path, registry=five, clock=time.time) as device:
        assert {device.record(name, value=True) for name in names} == {Recorded.QUEUED}
    ((instants, reports),) = rows(tmp_path, "SELECT COUNT(DISTINCT leaves), COUNT(*) FROM queue")
    assert (instants, reports) == (1, len(names))


def test_a_new_answer_does_not_put_off_a_look_that_is_planned() -> None:
    departures = Departures(fixed(40.0))
    departures.look_later(1002.0)
    departures.notify(departures.next_departure(1000.0, NOON))
    assert departures.news_s == 1002.0


def test_a_program_that_starts_after_it_sends_at_once_and_keeps_its_own_report(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    for metric in "mn":
        with telemetry(tmp_path, registry=PLAIN, clock=clock, transport=transport) as device:
            if metric == "n":
                wait_until(lambda: bool(transport.bodies), what="the report of the program before")
            assert device.record(metric, value=True) is Recorded.QUEUED
        clock.now_s += SPREAD_S
    assert [[report.metric for report in upload.reports] for upload in transport.uploads] == [["m"]]
    assert rows(tmp_path, "SELECT metric FROM queue") == [("n",)]


def test_a_program_that_starts_before_it_waits_for_it(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    with telemetry(tmp_path, registry=PLAIN, transport=transport) as device:
        device._processes.current.uploader._departures.uniform = fixed(50.0)
        assert device.record("m", value=True) is Recorded.QUEUED
    with telemetry(tmp_path, registry=PLAIN, transport=transport) as device:
        departures = device._processes.current.uploader._departures
        wait_until(lambda: departures.news_s is not None and not departures.rests, what="its plan")
        assert departures.next_departure(0.0, 0.0).at_s > 0.0
    assert transport.bodies == []


def test_a_clock_that_was_set_back_holds_no_report(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    with telemetry(tmp_path, registry=PLAIN, clock=clock, transport=transport) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
    clock.now_s -= DAY_S / 2
    with telemetry(tmp_path, registry=PLAIN, clock=clock, transport=transport):
        wait_until(lambda: bool(transport.bodies), what="the report")


def test_a_program_that_ends_waits_for_a_request_for_a_moment_only(tmp_path: Path) -> None:
    hanging, release = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        hanging.set()
        assert release.wait(60)

    device = telemetry(tmp_path, registry=PLAIN, transport=ScriptedTransport(hang))
    assert device.record("m", value=True) is Recorded.QUEUED
    assert not device.flush(0.0)
    assert hanging.wait(60)
    before_s = time.monotonic()
    device.close()
    assert REQUEST_DEADLINE_S <= time.monotonic() - before_s < REQUEST_DEADLINE_S + 30.0  # of the 60 that it hangs
    release.set()
