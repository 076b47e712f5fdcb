"""Permanent answers on the device: offsets of numbers, their charges, and their secret."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Recorded, Telemetry, recorder
from client_sdk.answers import prf_coins as prf
from client_sdk.answers.randomized import permanent_answer
from client_sdk.ledger.device import Secret
from client_sdk.ledger.thread import LedgerThread
from client_sdk.protocol import COIN_SCALE, Metric
from client_sdk.protocol.mechanisms import permanent
from tests.support.core.tables import for_each
from tests.support.devices.clients import DAY_S, SetClock, ask, busy_ledger, rows, telemetry
from tests.support.laws.permanents import asking, channel_of
from tests.support.laws.sampling import accepts, decision


def speed() -> Metric:
    """Return a number from 0 to 10 with a permanent answer at one of its ends."""
    table = '[metric.m]\nkind = "number"\nlow = 0\nhigh = 10\nstatistic = "mean"\n'
    return ask(f"{table}permanent_epsilon = 2").metric("m")


def secret_of(device: int) -> Secret:
    return Secret(device.to_bytes(32, "big"), 1)


def offset_of(metric: Metric, secret: Secret) -> Fraction:
    """Return the largest answer that a device rounds down; low and high stand for 0 and 1."""
    coins = prf.PrfCoins(secret.key, permanent.OFFSET, metric.name, metric.edition)
    return Fraction(coins.below(COIN_SCALE), COIN_SCALE) * 10


@for_each("device", range(20))
def test_a_number_keeps_its_permanent_answer_while_it_drifts_on_one_side_of_the_offset(device: int) -> None:
    metric, secret = speed(), secret_of(device)
    channel, offset = channel_of(metric), offset_of(metric, secret)
    step = Fraction(1, COIN_SCALE)
    coins_of = partial(prf.PrfCoins, secret.key)
    below, above = (
        {channel.settle(partial(metric.encode, answer), coins_of, metric.name, metric.edition) for answer in answers}
        for answers in ((0, offset / 3, offset - step), (offset + 11 * step, 5 + offset / 2, 10))
    )
    assert ([value for value, _ in below], [value for value, _ in above]) == ([0], [1])


@pytest.mark.slow
def test_the_offset_makes_the_mean_over_devices_unbiased() -> None:
    metric = speed()
    decided = decision(0.3, 0.35)
    ups = sum(
        metric.encode(3, prf.PrfCoins(secret_of(device).key, permanent.OFFSET, metric.name, metric.edition))
        for device in range(decided.draws)
    )
    assert accepts(decided, 0.3, ups)


def test_the_offset_is_the_same_for_all_answers_of_a_device_and_another_on_another() -> None:
    metric = speed()
    rounded = [
        [metric.encode(answer, prf.PrfCoins(secret_of(device).key, permanent.OFFSET, "m", "")) for answer in range(11)]
        for device in range(50)
    ]
    assert all(ends == sorted(ends) for ends in rounded)
    assert len({sum(ends) for ends in rounded}) > 5


def test_the_same_answer_has_the_same_permanent_answer_and_another_metric_another() -> None:
    registry = ask("".join(f'[metric.{name}]\nkind = "boolean"\npermanent_epsilon = 1\n' for name in ("m", "n")))
    answers_of = {
        name: [
            permanent_answer(metric, channel_of(metric), partial(metric.encode, True), secret_of(device))  # noqa: FBT003 the answer
            for device in range(40)
            for _ in range(2)
        ]
        for name, metric in registry.metrics.items()
    }
    for answers in answers_of.values():
        assert answers[::2] == answers[1::2]
    assert [answer.symbol for answer in answers_of["m"]] != [answer.symbol for answer in answers_of["n"]]


def spent_nanos(data_dir: Path) -> int:
    ((nanos,),) = rows(data_dir, "SELECT COALESCE(SUM(nanos), 0) FROM charges")
    return int(nanos)


def live(device: Telemetry, clock: SetClock, answers: str) -> list[Recorded]:
    results = []
    for answer in answers:
        results.append(device.record("m", answer))
        clock.now_s += DAY_S
    return results


def test_opting_in_again_makes_a_new_secret(tmp_path: Path) -> None:
    registry, clock, secrets = asking(3), SetClock(), set()
    for generation in (1, 2, 3):
        with telemetry(tmp_path, registry=registry, clock=clock) as device:
            assert live(device, clock, "ab") == [Recorded.QUEUED] * 2
            ((secret, number),) = rows(tmp_path, "SELECT secret, generation FROM device")
            assert number == generation
            secrets.add(secret)
            device.forget()
    assert len(secrets) == 3
    assert spent_nanos(tmp_path) == 6 * registry.metric("m").epsilon_nanos


def test_a_program_that_runs_while_another_one_opts_out_records_nothing_more(tmp_path: Path) -> None:
    registry = asking(3)
    with telemetry(tmp_path, registry=registry) as first, telemetry(tmp_path, registry=registry) as second:
        assert first.record("m", "a") is Recorded.QUEUED
        assert second.record("m", "a") is Recorded.ALREADY_RECORDED
        first.forget()
        assert second.record("m", "b") is Recorded.UNAVAILABLE
        assert "opted out in another process" in (second.problem or "")


def test_an_answer_made_before_the_user_opted_out_and_in_again_is_not_recorded(tmp_path: Path) -> None:
    registry = asking(3)
    metric = registry.metric("m")
    with telemetry(tmp_path, registry=registry) as device:
        stale = permanent_answer(metric, channel_of(metric), partial(metric.encode, "a"), Secret(bytes(32), 0))
        assert device._recorder.record(metric, stale) is Recorded.BUSY
        assert rows(tmp_path, "SELECT COUNT(*) FROM charges") == [(0,)]
        assert device.record("m", "a") is Recorded.QUEUED


def test_after_an_answer_was_recorded_a_permanent_one_waits_for_the_ledger_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, here, jobs = SetClock(), threading.current_thread(), list[object]()
    run, run_or_leave = LedgerThread.run, LedgerThread.run_or_leave

    def noted(ledger_thread: LedgerThread, work: Any, timeout_s: float, **options: str) -> Any:
        if threading.current_thread() is here:
            jobs.append(work)
        return run(ledger_thread, work, timeout_s, **options)

    def left(ledger_thread: LedgerThread, work: Any, timeout_s: float, late: Any) -> Any:
        jobs.append(work)
        return run_or_leave(ledger_thread, work, timeout_s, late)

    with telemetry(tmp_path, registry=asking(3), clock=clock) as device:
        assert device.record("m", "a") is Recorded.QUEUED
        clock.now_s += DAY_S
        monkeypatch.setattr(LedgerThread, "run", noted)
        monkeypatch.setattr(LedgerThread, "run_or_leave", left)
        assert device.record("m", "b") is Recorded.QUEUED
    assert len(jobs) == 1


def test_an_answer_made_by_a_secret_that_another_process_replaced_is_recorded_by_the_new_one(tmp_path: Path) -> None:
    clock = SetClock()
    with telemetry(tmp_path, registry=asking(3), clock=clock) as device:
        assert device.record("m", "a") is Recorded.QUEUED
        with telemetry(tmp_path, registry=asking(3), clock=clock) as other:
            other.forget()
        with telemetry(tmp_path, registry=asking(3), clock=clock) as other:
            assert other.record("m", "a") is Recorded.ALREADY_RECORDED
        clock.now_s += DAY_S
        recorded = [device.record("m", "a") for _ in range(2)]
    # unless the uploader has met the other process first, the new secret is read after the old one
    # was refused
    assert recorded in ([Recorded.BUSY, Recorded.QUEUED], [Recorded.QUEUED, Recorded.ALREADY_RECORDED])


def test_waiting_for_the_secret_and_for_the_report_keeps_the_promise(
    monkeypatch: pytest.MonkeyPatch, real_deadline: float, real_secret_deadline: float
) -> None:
    assert max(real_deadline, real_secret_deadline) < 0.1
    with telemetry(None, registry=asking(3)) as device:
        device._schedule.forget()
        monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", real_deadline)
        monkeypatch.setattr(recorder, "SECRET_DEADLINE_S", real_secret_deadline)
        with busy_ledger(device):
            assert device.record("m", "a") is Recorded.BUSY
        assert device.dropped() == {"busy": 1}
        monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", 60.0)
        monkeypatch.setattr(recorder, "SECRET_DEADLINE_S", 60.0)
        assert device.record("m", "a") is Recorded.QUEUED
        monkeypatch.setattr(recorder, "RECORD_DEADLINE_S", real_deadline)
        with busy_ledger(device):
            assert device.record("m", "b") is Recorded.WAITING


def test_a_metric_with_permanent_answers_needs_consent_and_an_open_ledger(tmp_path: Path) -> None:
    with telemetry(tmp_path / "none", registry=asking(3), consent=False) as device:
        assert device.record("m", "a") is Recorded.NO_CONSENT
    assert not (tmp_path / "none").exists()
    device = telemetry(tmp_path, registry=asking(3))
    device.close()
    assert device.record("m", "a") is Recorded.CLOSED
