"""An app's clock that gives no time: the app is told so, and nothing else is blamed."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from client_sdk import FlushOutcome, LedgerError, Recorded
from client_sdk.host.clock import Clock as OfHost
from client_sdk.results import ClockError
from tests.support.devices.clients import NOON, ScriptedTransport, telemetry

Clock = Callable[[], Any]


def broken() -> float:
    raise ZeroDivisionError


WRONG: list[tuple[str, Clock]] = [
    *(("TypeError", lambda: None), ("ValueError", lambda: "noon"), ("OverflowError", lambda: 10**400)),
    ("ZeroDivisionError", broken),
]
"""What the sentence names, and the clock."""

EACH = pytest.mark.parametrize(("name", "clock"), WRONG)


@EACH
def test_what_a_clock_gave_instead_of_seconds_is_named(name: str, clock: Clock) -> None:
    with pytest.raises(ClockError, match=rf"must return a number of Unix seconds, but reading it raised {name}"):
        OfHost(clock)()


@pytest.mark.parametrize("now", [int(NOON), NOON, Decimal(NOON), math.inf])
def test_any_number_is_taken_as_seconds(now: Any) -> None:
    assert OfHost(lambda: now)() == now


@EACH
def test_an_app_is_told_of_its_clock_and_not_of_its_files(
    name: str, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sentence = f"the app's clock must return a number of Unix seconds, but reading it raised {name}; correct it"
    with telemetry(tmp_path, clock=clock, transport=ScriptedTransport()) as device:
        assert device.flush(timeout_s=60).outcome is FlushOutcome.UNAVAILABLE
        assert device.problem == sentence
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        assert device.problem == sentence
        with pytest.raises(LedgerError, match="must return a number of Unix seconds"):
            device.budget()
    assert [record.getMessage() for record in caplog.records] == [sentence]


def test_a_clock_that_is_mended_works_and_is_no_problem_any_more(tmp_path: Path) -> None:
    given: list[Any] = [None]
    with telemetry(tmp_path, clock=lambda: given[0]) as device:
        assert device.record("dark_mode", value=True) is Recorded.UNAVAILABLE
        given[0] = NOON
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
        assert device.flush(timeout_s=60)
        assert device.problem is None
