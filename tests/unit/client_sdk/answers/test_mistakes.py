"""No answer and no name raises into the host, and none of its mistakes shows in what it is told."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk import OutsideDomainError, Recorded, Telemetry, UnknownMetricError
from client_sdk.answers import counters
from client_sdk.answers.randomized import permanent_answer
from client_sdk.ledger.device import Secret
from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol import Metric, Registry
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.testing import KeptUploads, SeededCoins, answers
from tests.support.core.tables import for_each
from tests.support.devices.clients import COLLECTOR, DAY_S, SetClock, all_bytes, ask, in_child, rows, telemetry
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    CROSSED_MODEL,
    MEAN_BY_GROUP,
    MODEL,
    NEAREST,
    NUMBER,
    ORDINAL,
    SET,
    TEXT,
    VECTOR,
    Field,
    registry_text,
)

MARK = "canary-31415"

KINDS: dict[str, dict[str, Field]] = {
    "dark_mode": BOOLEAN,
    "os": CATEGORY,
    "startup_ms": NUMBER,
    "exact_ms": NUMBER | {"clip": False},
    "taps": COUNT,
    "days": ACTIVITY,
    "scale": ORDINAL,
    "level": CATEGORY | {"kind": "ordinal", "statistic": "mean"},
    "near": NEAREST,
    "tags": SET,
    "both": CROSS,
    "by_group": MEAN_BY_GROUP,
    "embedding": VECTOR,
    "word": TEXT,
    "health": MODEL,
    "crossed": CROSSED_MODEL,
    "lasting": CATEGORY | {"permanent_epsilon": 2},
    "filled": BOOLEAN | {"fill_in": True},
}
REGISTRY = Registry.parse(registry_text(**KINDS).replace("per_window = 20", "per_window = 200"))


class Hostile:
    """An answer whose methods raise, whatever is done with it."""

    def __init__(self, error: type[BaseException] = ZeroDivisionError) -> None:
        self._error = error

    def _raise(self, *_: Any) -> Any:
        raise self._error(MARK)

    __eq__ = __hash__ = __index__ = __int__ = __float__ = __str__ = __repr__ = __bool__ = _raise
    __len__ = __iter__ = __getitem__ = __contains__ = __lt__ = __abs__ = __round__ = _raise
    __class__ = property(_raise)


class HostileText(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise ZeroDivisionError(MARK)


class HostileNumber(float):
    """A number that cannot be converted."""

    __slots__ = ()

    def __float__(self) -> float:
        raise RecursionError(MARK)

    __repr__ = __str__ = __float__  # type: ignore[assignment]


class HostileList(list[object]):
    """A list that ends in an error."""

    def __iter__(self) -> Iterator[object]:
        yield MARK
        raise MemoryError(MARK)


WRONG: dict[str, Callable[[], object]] = {
    "a text": lambda: MARK,
    "NaN": lambda: float("nan"),
    "bytes": MARK.encode,
    "a list": lambda: [MARK, float("nan"), MARK],
    "a long list": lambda: [MARK] * 1000,
    "a mapping": lambda: {"age": MARK},
    "a nested list": lambda: [[[MARK]]],
    "an object": object,
    "a hostile object": Hostile,
    "a hostile text": lambda: HostileText("31415"),
    "a hostile number": lambda: HostileNumber(1),
    "a hostile list": HostileList,
    "a pair of hostile ones": lambda: (Hostile(), Hostile()),
}
"""Answers that are none of any kind of `KINDS`; of a text, whose letters no canary has."""


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_an_answer_is_it_is_reported_as_a_valid_one_and_shown_nowhere(
    wrong: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    uploads = KeptUploads()
    with telemetry(tmp_path, registry=REGISTRY, transport=uploads, coins=SeededCoins(1)) as device:
        results = {name: device.record(name, WRONG[wrong]()) for name in KINDS}
        assert set(results.values()) == {Recorded.QUEUED}
        assert device.dropped() == {"invalid": len(KINDS)}
        assert device.flush(timeout_s=60)
        assert device.problem is None
    assert len(uploads.reports) == len(KINDS) - 1  # what is filled in waits for the end of its window
    shown = b"".join(uploads.bodies) + all_bytes(tmp_path) + caplog.text.encode()
    assert b"31415" not in shown
    assert caplog.text.count("a random answer is reported instead") == len(KINDS)


def test_an_answer_that_is_left_out_is_invalid_too_except_where_that_can_be_said() -> None:
    with telemetry(None, registry=REGISTRY) as device:
        assert {device.record(name, None) for name in KINDS} == {Recorded.QUEUED}
        assert device.dropped() == {"invalid": len(KINDS) - 1}  # a question that is filled in has an input for it


@pytest.mark.long
@for_each("wrong", [*WRONG, "a half", "a truth value"])
@for_each("persist", [False, True])
def test_what_is_no_whole_number_adds_a_random_one_to_a_count(wrong: str, *, persist: bool) -> None:
    make: Callable[[], Any] = (WRONG | {"a half": lambda: 0.5, "a truth value": lambda: True})[wrong]
    counting = Registry.parse(registry_text(m=COUNT | {"persist": persist}))
    drawn = set()
    for seed in range(40):
        with telemetry(None, registry=counting, coins=SeededCoins(seed)) as device:
            assert device.count("m", make()) is Recorded.COUNTED
            assert device.dropped() == {"invalid": 1}
            drawn.add(counted(device))
    assert drawn == set(range(10))


@pytest.mark.parametrize(("by", "sum_"), [(-5, 0), (10**30, 9), (float("inf"), 9), (float("-inf"), 0), (3, 3)], ids=str)
def test_what_is_added_to_a_count_is_clipped(by: Any, sum_: int) -> None:
    with telemetry(None, registry=Registry.parse(registry_text(m=COUNT))) as device:
        assert device.count("m", by) is Recorded.COUNTED
        assert device.dropped() == {}
        assert counted(device) == sum_


def counted(device: Telemetry) -> int:
    """Return the running sum of a device with one count."""

    def read(connection: sqlite3.Connection) -> int:
        in_file = connection.execute("SELECT count FROM counts").fetchall()
        ((count,),) = in_file or [(count,) for count in device._schedule.dues.counts._counts.values()]
        return int(count)

    return device._processes.current.ledger_thread.run(read, 60.0)


def test_a_mistake_of_a_metric_is_logged_once_by_each_process(caplog: pytest.LogCaptureFixture) -> None:
    def again() -> str:
        caplog.clear()
        device.record("os", MARK)
        device.record("scale", MARK)
        return caplog.text

    with telemetry(None, registry=REGISTRY) as device:
        assert again().count("expects") == 2
        assert again() == ""
        assert in_child(again).count("expects") == 2
        device.record("unheard", MARK)
        device.record("unheard of", MARK)
        assert caplog.text.count("the registry defines no metric of this name") == 1
        assert device.dropped() == {"invalid": 4, "unknown": 2}


def test_without_consent_nothing_is_encoded_logged_or_counted_whatever_the_answer(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("an answer is read")

    monkeypatch.setattr(Metric, "encode", fail)
    monkeypatch.setattr(counters, "addend", fail)
    with telemetry(None, registry=REGISTRY, consent=False) as device:
        for wrong in WRONG.values():
            names: list[Any] = [*KINDS, "unheard", WRONG["a hostile object"](), ["no hash"]]
            for name in names:
                by: Any = wrong()
                assert {device.record(name, by), device.count(name, by), device.active(name)} == {Recorded.NO_CONSENT}
        assert device.dropped() == {}
    assert caplog.text == ""


def test_a_call_for_a_metric_of_another_kind_says_so_without_raising(caplog: pytest.LogCaptureFixture) -> None:
    with telemetry(None, registry=REGISTRY) as device:
        assert device.count("dark_mode") is Recorded.UNKNOWN
        assert device.count("days") is Recorded.UNKNOWN
        assert device.active("taps") is Recorded.UNKNOWN
        hostile: Any = Hostile()
        assert device.record(hostile, value=True) is Recorded.UNKNOWN
    for said in ("'dark_mode' expects record()", "'days' expects active()", "'taps' expects count()"):
        assert said in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes_through(error: type[BaseException]) -> None:
    with telemetry(None, registry=REGISTRY) as device, pytest.raises(error):
        device.record("startup_ms", Hostile(error))


def test_opting_out_forgets_the_mistakes() -> None:
    with telemetry(None, registry=REGISTRY) as device:
        device.record("os", MARK)
        device.forget()
        assert device.dropped() == {}


def test_a_strict_telemetry_and_every_one_within_answers_raises_mistakes(tmp_path: Path) -> None:
    def raises(device: Telemetry) -> None:
        with pytest.raises(OutsideDomainError):
            device.record("os", MARK)
        with pytest.raises(OutsideDomainError):
            device.count("taps", 0.5)  # type: ignore[arg-type]
        with pytest.raises(OutsideDomainError):
            device.active("taps")
        with pytest.raises(UnknownMetricError):
            device.record("unheard", value=True)
        assert device.record("startup_ms", 10**6) is Recorded.QUEUED  # what is clipped is no mistake

    with telemetry(None, registry=REGISTRY, strict=True) as device:
        raises(device)
    made_before = Telemetry(REGISTRY, collector=COLLECTOR, data_dir=None, consent=True, transport=KeptUploads())
    with answers() as recorded:
        raises(made_before)
        with Telemetry(REGISTRY, collector=COLLECTOR, data_dir=tmp_path, consent=True) as device:
            raises(device)
    made_before.close()
    assert {answer.metric for answer in recorded} == {"startup_ms"}


def test_an_invalid_answer_is_one_lasting_answer_of_a_device_and_leaves_nothing_of_itself(tmp_path: Path) -> None:
    lasting = ask('[metric.m]\nkind = "category"\nvalues = ["a", "b", "c"]\nepsilon = 20\npermanent_epsilon = 20')
    clock = SetClock()
    for wrong in WRONG.values():
        with telemetry(tmp_path, registry=lasting, clock=clock) as device:
            assert device.record("m", wrong()) is Recorded.QUEUED
            clock.now_s += DAY_S
    ((key, generation),) = rows(tmp_path, "SELECT secret, generation FROM device")
    secret, metric = Secret(key, generation), lasting.metric("m")
    assert isinstance(metric.channel, Permanent)
    of_valid = {permanent_answer(metric, metric.channel, partial(metric.encode, answer), secret) for answer in "abc"}
    (reported,) = rows(tmp_path, "SELECT DISTINCT symbol FROM queue")
    assert reported[0] in {answer.symbol for answer in of_valid}
    assert MARK.encode() not in (tmp_path / FILE_NAME).read_bytes()
