"""When a relay reads its collector's stops, and what becomes of them on disk."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.relay.forward import CollectorUnavailableError
from collector.relay.stops import LISTED_FOR_S, LONGEST_WAIT_S, Stops, StopsFile, StopsReader
from tests.support.devices.clients import SetClock

EDITION = "0123456789ab"
A, B = ("a", EDITION), ("b", EDITION)


class Collector:
    """Lists what a test says, of two questions that it defines."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def get_registry(self) -> bytes:
        metrics = [{"metric": name, "editions": [EDITION]} for name in "ab"]
        return json.dumps({"metrics": metrics, "stopped": [f"{name}:{EDITION}" for name in self.names]}).encode()


def reader(path: Path, collector: Collector, clock: SetClock) -> StopsReader:
    return StopsReader(StopsFile(path), collector.get_registry, clock=clock, uniform=lambda low, high: (low + high) / 2)


def read_for_a_day(reading: StopsReader, clock: SetClock) -> None:
    reading.read()
    clock.now_s += LISTED_FOR_S
    reading.read()


def test_what_was_handed_out_is_handed_out_after_a_restart_whatever_the_collector_lists(tmp_path: Path) -> None:
    clock, collector, path = SetClock(), Collector("a"), tmp_path / "relay.json"
    first = reader(path, collector, clock)
    read_for_a_day(first, clock)
    assert first.handed_out == (A,)
    collector.names = ()
    again = reader(path, collector, clock)
    assert again.handed_out == (A,)
    read_for_a_day(again, clock)
    assert again.handed_out == reader(path, collector, clock).handed_out == (A,)


def test_the_day_for_which_a_stop_must_be_listed_goes_on_after_a_restart(tmp_path: Path) -> None:
    clock, collector, path = SetClock(), Collector("a"), tmp_path / "relay.json"
    reader(path, collector, clock).read()
    clock.now_s += LISTED_FOR_S
    again = reader(path, collector, clock)
    again.read()
    assert again.handed_out == (A,)


def test_relays_that_share_a_file_hand_out_the_same(tmp_path: Path) -> None:
    clock, path = SetClock(), tmp_path / "relay.json"
    first, second = reader(path, Collector("a"), clock), reader(path, Collector("b"), clock)
    read_for_a_day(first, clock)
    read_for_a_day(second, clock)
    first.read()
    assert first.handed_out == second.handed_out == (A, B)


def test_a_file_that_disappears_under_a_relay_is_written_again(tmp_path: Path) -> None:
    clock, collector, path = SetClock(), Collector("a"), tmp_path / "relay.json"
    reading = reader(path, collector, clock)
    read_for_a_day(reading, clock)
    path.unlink()
    reading.read()
    assert StopsFile(path).read().handed_out == reading.handed_out == (A,)


def test_a_stop_is_on_disk_before_a_device_receives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, path = SetClock(), tmp_path / "relay.json"
    reading = reader(path, Collector("a"), clock)
    steps: list[tuple[str, bool]] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(descriptor: int) -> None:
        steps.append(("sync", bool(reading.handed_out)))
        sync(descriptor)

    def noted_replace(temporary: Path, target: Path) -> Path:
        steps.append(("replace", bool(reading.handed_out)))
        return replace(temporary, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    read_for_a_day(reading, clock)
    assert reading.handed_out == (A,)
    assert steps[-3:] == [("sync", False), ("replace", False), ("sync", False)]


def test_a_file_that_cannot_be_written_hands_out_nothing_new_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, path = SetClock(), tmp_path / "relay.json"
    reading = reader(path, Collector("a"), clock)
    reading.read()
    clock.now_s += LISTED_FOR_S

    def full(_: StopsFile, __: Stops) -> None:
        raise ConfigError("relay.json cannot be written: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(StopsFile, "write", full)
        reading.read()
        reading.read()
    assert reading.handed_out == ()
    (record,) = caplog.records
    assert (
        "relay.json cannot be written: No space left on device; the relay continues with the list"
        in record.getMessage()
    )
    read_for_a_day(reading, clock)
    assert StopsFile(path).read().handed_out == (A,)


@pytest.mark.parametrize("answer", [b"", b"<html>", b'{"metrics": []}'])
def test_a_reading_that_fails_neither_ends_nor_begins_a_day(
    tmp_path: Path, answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    clock, collector, path = SetClock(), Collector("a"), tmp_path / "relay.json"
    answers = [collector.get_registry, lambda: answer, collector.get_registry]

    def get_registry() -> bytes:
        registry = answers.pop(0)()
        if not registry:
            raise CollectorUnavailableError("it answered with status 503")
        return registry

    reading = StopsReader(StopsFile(path), get_registry, clock=clock, uniform=lambda low, _: low)
    for passed_s in (0, 9, LISTED_FOR_S):
        clock.now_s += passed_s
        reading.read()
    assert reading.handed_out == (A,)
    assert len(caplog.records) == 1


def test_a_full_list_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("collector.relay.stops.MAX_STOPPED_CHARS", len(f"a:{EDITION}"))
    clock = SetClock()
    reading = reader(tmp_path / "relay.json", Collector("a", "b"), clock)
    read_for_a_day(reading, clock)
    reading.read()
    assert reading.handed_out == (A,)
    assert [record.getMessage() for record in caplog.records] == [
        "the list of stopped questions is full, and the relay adds no more: release the apps with a new registry"
    ]


class EndError(Exception):
    """Ends a thread of a test."""


def test_the_times_of_readings_are_random_and_come_from_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges, waits = list[tuple[float, float]](), list[float]()
    draws = iter([5.0, 7000.0, 0.5])

    def uniform(low: float, high: float) -> float:
        ranges.append((low, high))
        return next(draws)

    readings: list[int] = []

    def get_registry() -> bytes:
        readings.append(len(waits))
        return Collector().get_registry()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise EndError

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    reading = StopsReader(StopsFile(tmp_path / "relay.json"), get_registry, clock=SetClock(), uniform=uniform)
    reading.start(wait)
    for thread in threading.enumerate():
        if thread.name == "stops":
            thread.join(60)
    assert ranges == [(0.0, LONGEST_WAIT_S)] * 3
    assert (waits, readings) == ([5.0, 7000.0, 0.5], [1, 2])


def test_a_damaged_or_strange_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "relay.json"
    path.write_bytes(b'{"handed_out": ["a:01')
    with pytest.raises(ConfigError, match=r"relay\.json is damaged: restore a copy of the file"):
        reader(path, Collector(), SetClock())
    with pytest.raises(ConfigError, match="cannot be read: Is a directory; with --state, name the relay's own file"):
        reader(tmp_path, Collector(), SetClock())
    assert LONGEST_WAIT_S < LISTED_FOR_S
