"""The host is called once for each fraction of its lifetime budget, and never while it waits."""

from __future__ import annotations

import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client_sdk import BudgetStatus, Recorded
from tests.support.devices.clients import DAY_S, SetClock, ask, in_child, report_from, telemetry, write_lock_held

LONG_S = 60.0
TEN = ask('[metric.m]\nkind = "boolean"', "lifetime = 10")
"""A lifetime of ten reports."""


class Host:
    """Notes the calls of the host, and their threads."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, BudgetStatus]] = []
        self.threads: set[str] = set()

    def __call__(self, fraction: float, status: BudgetStatus) -> None:
        self.calls.append((fraction, status))
        self.threads.add(threading.current_thread().name)

    @property
    def fractions(self) -> list[float]:
        return [fraction for fraction, _ in self.calls]


def test_each_fraction_is_announced_once_when_it_is_reached(tmp_path: Path) -> None:
    host, clock = Host(), SetClock()
    reached = []
    with telemetry(tmp_path, registry=TEN, clock=clock, on_budget=host) as device:
        for _ in range(10):
            assert device.record("m", value=True) is Recorded.QUEUED
            device.flush(timeout_s=LONG_S)
            reached.append(list(host.fractions))
            clock.now_s += DAY_S
        assert device.record("m", value=True) is Recorded.OUT_OF_BUDGET
        device.flush(timeout_s=LONG_S)
    assert reached == [[]] * 7 + [[0.8]] * 2 + [[0.8, 0.95]]
    assert host.fractions == [0.8, 0.95]
    assert [round(status.lifetime_spent) for _, status in host.calls] == [8, 10]
    assert [status.windows_left for _, status in host.calls] == [2, 0]
    assert host.threads == {"hearsay-uploader"}


def test_a_fraction_is_met_as_it_is_written(tmp_path: Path) -> None:
    """Four fifths exactly, although 0.8 as a float is a little more."""
    cost = TEN.metric("m").epsilon_nanos
    exactly = ask('[metric.m]\nkind = "boolean"', f"lifetime = {5 * cost}e-9")
    host, clock = Host(), SetClock()
    with telemetry(tmp_path, registry=exactly, clock=clock, on_budget=host, warn_at=(0.8,)) as device:
        for _ in range(4):
            device.record("m", value=True)
            clock.now_s += DAY_S
            assert host.fractions == []
        device.flush(timeout_s=LONG_S)
    assert host.fractions == [0.8]


def test_fractions_that_are_reached_together_are_announced_in_rising_order_by_every_run(tmp_path: Path) -> None:
    for _ in range(2):
        host, clock = Host(), SetClock()
        with telemetry(tmp_path, registry=TEN, clock=clock, on_budget=host, warn_at=(0.3, 0.1, 0.2, 1)) as device:
            for _ in range(3):
                device.record("m", value=True)
                clock.now_s += DAY_S
            device.flush(timeout_s=LONG_S)
        assert host.fractions == [0.1, 0.2, 0.3]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_process_calls_the_host_itself(tmp_path: Path) -> None:
    host = Host()
    with telemetry(tmp_path, registry=TEN, on_budget=host, warn_at=(0.1,)) as device:
        device.record("m", value=True)
        device.flush(timeout_s=LONG_S)

        def child() -> list[float]:
            device.flush(timeout_s=LONG_S)
            return host.fractions

        assert in_child(child) == "[0.1, 0.1]"
        assert host.fractions == [0.1]


def test_what_the_host_raises_is_logged_and_holds_up_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    with telemetry(tmp_path, registry=TEN, on_budget=fail, warn_at=(0.05, 0.1)) as device:
        assert device.record("m", value=True) is Recorded.QUEUED
        assert device.flush(timeout_s=LONG_S)
        assert [entry.outcome for entry in device.history()] == ["accepted"]
    assert caplog.text.count("on_budget failed: ZeroDivisionError") == 2


def test_a_host_that_hangs_does_not_delay_record(tmp_path: Path) -> None:
    release, begun = threading.Event(), threading.Event()

    def hang(*_: Any) -> None:
        begun.set()
        assert release.wait(LONG_S)

    clock = SetClock()
    with telemetry(tmp_path, registry=TEN, clock=clock, on_budget=hang, warn_at=(0.1,)) as device:
        device.record("m", value=True)
        assert not device.flush(timeout_s=0)
        assert begun.wait(LONG_S)
        clock.now_s += DAY_S
        assert device.record("m", value=True) is Recorded.QUEUED
        release.set()
        assert device.flush(timeout_s=LONG_S)


def test_slots_that_the_calendar_charges_are_announced_too(tmp_path: Path) -> None:
    registry = ask('[metric.m]\nkind = "boolean"\nfill_in = true', "lifetime = 2")
    host = Host()
    report_from(tmp_path, registry=registry, on_budget=host, warn_at=(0.5,))
    assert host.fractions == [0.5]


def test_without_consent_nothing_is_announced(tmp_path: Path) -> None:
    host = Host()
    report_from(tmp_path, "m", registry=TEN)
    with telemetry(tmp_path, registry=TEN, on_budget=host, warn_at=(0.1,), consent=False) as device:
        device.forget()
        assert device.flush(timeout_s=LONG_S)
    assert host.calls == []


def test_a_ledger_that_is_busy_is_looked_at_later(tmp_path: Path) -> None:
    host = Host()
    with telemetry(tmp_path, registry=TEN, on_budget=host, warn_at=(0.1,)) as device:
        device.record("m", value=True)
        with write_lock_held(tmp_path):
            assert not device.flush(timeout_s=1.0)
        assert device.flush(timeout_s=LONG_S)
    assert host.fractions == [0.1]


NO_FRACTION, NO_NUMBER = "above 0 and at most 1", r"warn_at must contain numbers, such as \(0.8, 0.95\)"


@pytest.mark.parametrize(
    ("warn_at", "error", "said"),
    [
        *((wrong, ValueError, NO_FRACTION) for wrong in ((0,), (-0.5,), (0.5, 1.5), (float("nan"),))),
        *((wrong, TypeError, NO_NUMBER) for wrong in (0.8, ("much",), (None,))),
    ],
)
def test_a_fraction_that_is_none_is_refused_at_once(warn_at: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        telemetry(None, on_budget=Host(), warn_at=warn_at)


@pytest.mark.parametrize("warn_at", [(Fraction(1, 10),), (Decimal("0.1"),), (np.float64(0.1),), ()])
def test_fractions_of_any_type_of_numbers_or_none_hold_up_no_upload(tmp_path: Path, warn_at: Any) -> None:
    host = Host()
    assert report_from(tmp_path, "m", registry=TEN, on_budget=host, warn_at=warn_at)
    assert host.fractions == [0.1] * len(warn_at)


def test_a_metric_that_has_expired_shortens_no_budget(tmp_path: Path) -> None:
    text = '[metric.a]\nkind = "boolean"\n[metric.b]\nkind = "boolean"\nexpires = 2026-11-21'
    clock = SetClock()
    with telemetry(tmp_path, registry=ask(text, "lifetime = 9"), clock=clock) as device:
        assert device.budget().windows_left == 4
        clock.now_s += 5 * DAY_S
        assert device.budget().windows_left == 9


def test_the_budget_tells_for_how_many_windows_it_lasts_and_what_the_month_holds(tmp_path: Path) -> None:
    registry = ask('[metric.a]\nkind = "boolean"\n[metric.b]\nkind = "boolean"', "lifetime = 9\nper_month = 3")
    clock = SetClock()
    with telemetry(tmp_path, registry=registry, clock=clock) as device:
        assert (device.budget().windows_left, device.budget().month_ceiling) == (4, 3.0)
        assert {device.record("a", value=True), device.record("b", value=True)} == {Recorded.QUEUED}
        status = device.budget()
        assert (status.month, status.windows_left) == ("2026-11", 3)
        assert status.month_spent == status.window_spent == status.lifetime_spent > 1.9
        clock.now_s += 20 * DAY_S
        assert device.budget().month == "2026-12"
        assert device.budget().month_spent == 0.0
