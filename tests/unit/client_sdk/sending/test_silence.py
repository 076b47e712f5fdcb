"""An observer of the network sees the same of a device that answers and of one that does not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from client_sdk import Recorded
from client_sdk.cli import main as forget_all
from client_sdk.protocol import Window, WindowKind
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.sending.timing import LONGEST_REST_S
from tests.support.devices.clients import (
    DAY_S,
    FILLED,
    NOON,
    ScriptedTransport,
    SetClock,
    accept,
    ask,
    nothing,
    rows,
    status,
    telemetry,
)
from tests.support.laws.coins import SteadyCoins

HOUR_S = 3600


def observed(
    data_dir: Path, share: float, answers: dict[str, object], transport: ScriptedTransport
) -> list[tuple[int, int]]:
    """Return hour and length of every attempt of four days, as seen on the network."""
    clock, seen = SetClock(), []
    with telemetry(data_dir, registry=FILLED, clock=clock, transport=transport, coins=SteadyCoins(share)) as device:
        device._processes.current.uploader._departures.uniform = lambda low, _: low  # back-off takes no time
        device.flush(timeout_s=60)
        for hour in range(96):
            if hour % 24 == 5:
                for metric, answer in answers.items():
                    assert device.record(metric, answer) is Recorded.QUEUED
            before = len(transport.bodies)
            device.flush(timeout_s=60)
            seen += [(hour, len(body)) for body in transport.bodies[before:]]
            clock.now_s += HOUR_S
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.4, 0.99])
@pytest.mark.parametrize("answers", [{"m": True, "n": "c"}, {"m": False}, {"n": "a"}], ids=["both", "m", "n"])
def test_what_is_sent_has_the_same_number_time_and_length_with_and_without_answers(
    tmp_path: Path, share: float, answers: dict[str, object]
) -> None:
    silent = observed(tmp_path / "silent", share, {}, ScriptedTransport())
    assert len(silent) >= 3
    assert observed(tmp_path / "answering", share, answers, ScriptedTransport()) == silent


def test_so_it_has_where_the_network_fails_now_and_then(tmp_path: Path) -> None:
    def shaky() -> ScriptedTransport:
        return ScriptedTransport(nothing, status(503), accept, nothing, accept)

    silent = observed(tmp_path / "silent", 0.4, {}, shaky())
    assert len(silent) >= 5
    assert observed(tmp_path / "answering", 0.4, {"m": True, "n": "b"}, shaky()) == silent


def test_every_window_has_one_report_of_each_metric(tmp_path: Path) -> None:
    transport = ScriptedTransport()
    observed(tmp_path, 0.4, {"m": True}, transport)
    reports = [report for body in transport.bodies for report in read_upload(body).reports]
    days = [Window.at(WindowKind.DAY, NOON + day * DAY_S).text for day in range(4)]
    assert sorted((report.window, report.metric) for report in reports) == [
        (day, name) for day in days for name in "mn"
    ]


def test_recording_does_not_move_the_next_upload_of_a_device_that_fills_in() -> None:
    registry = ask('[metric.m]\nkind = "boolean"\nfill_in = true\n[metric.plain]\nkind = "boolean"')
    with telemetry(None, registry=registry) as device:
        assert device.flush(timeout_s=60)
        uploader = device._processes.current.uploader
        due_s = uploader._departures.news_s
        assert due_s is not None
        assert device.record("m", value=True) is Recorded.QUEUED
        assert uploader._departures.news_s == due_s
        assert device.record("plain", value=True) is Recorded.QUEUED
        moved_s = uploader._departures.news_s
        assert moved_s is None or moved_s < due_s


def test_a_report_that_comes_after_a_flush_does_not_put_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with telemetry(None, registry=FILLED) as device:
        assert device.flush(timeout_s=60)
        uploader = device._processes.current.uploader
        with uploader._changed:  # so that its thread does not begin between the two
            monkeypatch.setattr(uploader._changed, "wait_for", lambda *_: None)
            assert not device.flush(timeout_s=60)
            due_s = uploader._departures.news_s
            uploader.notify(uploader.departure(NOON))
            assert uploader._departures.news_s == due_s


def test_a_clock_that_cannot_be_believed_is_looked_at_again(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=FILLED, clock=clock) as device:
        device.flush(timeout_s=60)
        for wrong_s in (NOON - 9 * DAY_S, 1e300, float("nan")):
            clock.now_s = wrong_s
            assert device.flush(timeout_s=60)
            now_s = time.monotonic()
            due_s = device._processes.current.uploader._departures.news_s
            assert due_s is not None
            assert due_s < now_s + LONGEST_REST_S + 1


def test_forgetting_ends_filling_in(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=FILLED, clock=clock) as device:
        device.record("m", value=True)
        device.forget()
        clock.now_s += DAY_S
        device.flush(timeout_s=60)
    assert rows(tmp_path, "SELECT COUNT(*) FROM queue") == [(0,)]
    assert rows(tmp_path, "SELECT COUNT(*) FROM uploads") == [(0,)]


@pytest.mark.parametrize("days_off", [2, 5, 100])
def test_a_device_that_was_off_tells_no_more_when_it_comes_back(tmp_path: Path, days_off: int) -> None:
    def sent(folder: Path, *, recorded: bool) -> list[str]:
        clock, transport = SetClock(), ScriptedTransport()
        with telemetry(folder, registry=FILLED, clock=clock, transport=transport) as device:
            device.flush(timeout_s=60)
            if recorded:
                assert device.record("m", value=True) is Recorded.QUEUED
        clock.now_s += days_off * DAY_S + HOUR_S
        with telemetry(folder, registry=FILLED, clock=clock, transport=transport, coins=SteadyCoins(0.0)) as device:
            clock.now_s += HOUR_S * 7
            device.flush(timeout_s=60)
        reports = [report for body in transport.bodies for report in read_upload(body).reports]
        return sorted(f"{report.metric} {report.window}" for report in reports)

    assert sent(tmp_path / "silent", recorded=False) == sent(tmp_path / "recorded", recorded=True)


def test_a_new_registry_sends_no_report_of_the_old_metric_that_was_held_back(tmp_path: Path) -> None:
    clock, transport = SetClock(), ScriptedTransport()
    old = ask('[metric.m]\nkind = "boolean"\nfill_in = true')
    new = ask('[metric.n]\nkind = "boolean"\nfill_in = true')
    with telemetry(tmp_path, registry=old, clock=clock, transport=transport) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
    clock.now_s += 2 * DAY_S
    with telemetry(tmp_path, registry=new, clock=clock, transport=transport) as device:
        device.flush(timeout_s=60)
        assert device.dropped() == {"no_longer_asked": 1}
    assert transport.bodies == []


def test_opting_out_in_another_process_ends_recording_of_every_metric(tmp_path: Path) -> None:
    registry = ask('[metric.plain]\nkind = "boolean"')
    clock = SetClock()
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        assert device.record("plain", value=True) is Recorded.QUEUED
        assert forget_all(["forget", "--data-dir", str(tmp_path)]) == 0
        clock.now_s += DAY_S
        assert device.record("plain", value=True) is Recorded.UNAVAILABLE
        assert "opted out" in (device.problem or "")
