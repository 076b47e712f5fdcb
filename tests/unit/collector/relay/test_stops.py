"""What a relay hands out of the stops that its collector lists, and since when."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry
from client_sdk.protocol.wire.verdict import (
    MAX_STOPPED,
    MAX_STOPPED_CHARS,
    MetricEdition,
    decode_stopped,
    encode_stopped,
)
from collector.live_config import registry_document
from collector.relay.stops import LISTED_FOR_S, MAX_FILE_BYTES, Stops, listed_in
from tests.support.core.tables import for_each
from tests.support.services.collecting import NOON, REGISTRY, REGISTRY_TEXT

NOW_S = int(NOON)
A, B = ("os", "0123456789ab"), ("plan", "ba9876543210")


def test_a_stop_is_handed_out_once_it_has_been_listed_for_a_day_and_never_taken_back() -> None:
    stops = Stops().after([A], NOW_S)
    assert stops.handed_out == ()
    stops = stops.after([A], NOW_S + LISTED_FOR_S - 1)
    assert stops.handed_out == ()
    stops = stops.after([A], NOW_S + LISTED_FOR_S)
    assert (stops.handed_out, dict(stops.listed_since)) == ((A,), {})
    assert stops.after([], NOW_S + 10 * LISTED_FOR_S) == stops


def test_a_stop_that_a_reading_does_not_list_begins_its_day_anew() -> None:
    stops = Stops().after([A], NOW_S).after([B], NOW_S + LISTED_FOR_S - 1).after([A], NOW_S + LISTED_FOR_S)
    assert (stops.handed_out, dict(stops.listed_since)) == ((), {A: NOW_S + LISTED_FOR_S})


def test_a_clock_that_is_set_back_hands_out_later_and_not_earlier() -> None:
    stops = Stops().after([A], NOW_S).after([A], NOW_S - LISTED_FOR_S)
    assert stops.after([A], NOW_S - 1).handed_out == ()
    assert stops.after([A], NOW_S).handed_out == (A,)


LISTS = st.lists(st.sampled_from([A, B, ("dark_mode", "0" * 12)]), unique=True)


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(LISTS, st.integers(0, LISTED_FOR_S // 2)), max_size=30))
def test_whatever_is_listed_when_what_is_handed_out_only_grows_and_was_listed_for_a_day(
    readings: list[tuple[list[MetricEdition], int]],
) -> None:
    stops, now_s, since = Stops(), NOW_S, dict[MetricEdition, int]()
    for listed, passed_s in readings:
        now_s += passed_s
        since = {stop: since.get(stop, now_s) for stop in listed}
        new = stops.after(listed, now_s)
        assert new.handed_out[: len(stops.handed_out)] == stops.handed_out
        assert set(new.handed_out) == set(stops.handed_out) | {
            stop for stop in listed if now_s - since[stop] >= LISTED_FOR_S
        }
        assert Stops.decode(new.encode()) == new
        stops = new


@pytest.mark.parametrize("width", [1, 60])
def test_the_list_is_never_longer_than_a_device_reads(width: int) -> None:
    stops, now_s = Stops(), NOW_S
    for batch in range(3):
        listed = [(f"m{batch}_{number}_".ljust(width, "x"), "0" * 12) for number in range(MAX_STOPPED)]
        now_s += LISTED_FOR_S
        stops = stops.after(listed, now_s).after(listed, now_s + LISTED_FOR_S)
    assert decode_stopped(encode_stopped(stops.handed_out)) == stops.handed_out
    assert len(stops.handed_out) == MAX_STOPPED or len(encode_stopped(stops.handed_out)) > MAX_STOPPED_CHARS - 100
    assert stops.without_room(now_s + LISTED_FOR_S) != []
    assert len(stops.encode()) < MAX_FILE_BYTES


@for_each(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"handed_out": []}',
        b'{"handed_out": [], "listed_since": {}, "more": 1}',
        b'{"handed_out": [7], "listed_since": {}}',
        b'{"handed_out": ["os"], "listed_since": {}}',
        b'{"handed_out": ["os:0123456789ab", "os:0123456789ab"], "listed_since": {}}',
        b'{"handed_out": [], "listed_since": {"os": 1}}',
        b'{"handed_out": [], "listed_since": {"os:0123456789ab": "1"}}',
        b'{"handed_out": {}, "listed_since": {}}',
        b'{"handed_out": [], "listed_since": []}',
        Stops().encode().ljust(MAX_FILE_BYTES + 1),
        Stops((A,)).encode()[:-3],
    ],
)
def test_a_damaged_file_is_not_guessed(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        Stops.decode(content)


def test_stops_of_strata_are_read_from_the_registry_and_those_of_what_it_does_not_define_are_not() -> None:
    text = REGISTRY_TEXT.replace("[metric.os]", '[metric.os]\nstrata = ["platform"]')
    text += '[strata]\nplatform = ["ios", "android"]\n'
    os = Registry.parse(text).metric("os")
    own = REGISTRY.metric("dark_mode").edition
    assert len(os.editions) == 3
    named = [*(f"os:{edition}" for edition in os.editions), f"dark_mode:{own}", f"plan:{own}", "gone:0123456789ab"]
    served = Registry.parse(f"stopped = {json.dumps(named)}\n{text}")
    assert listed_in(registry_document(served)) == [*(("os", edition) for edition in os.editions), ("dark_mode", own)]


METRIC = {"metric": "os", "editions": ["0123456789ab"]}


@pytest.mark.parametrize(
    ("stopped", "listed"),
    [
        (["os:0123456789ab", "*", 7, None, ["os:0123456789ab"], {}, "os:0123456789AB"], [A]),
        (["os:0123456789ab"] * 1000, [A]),
        ([], []),
    ],
)
def test_garbage_among_stops_is_left_out(stopped: list[Any], listed: list[MetricEdition]) -> None:
    assert listed_in(json.dumps({"metrics": [METRIC, 7, {"metric": []}], "stopped": stopped}).encode()) == listed


def test_of_a_flood_of_stops_the_first_are_read() -> None:
    metrics = [{"metric": f"m{number}", "editions": ["0" * 12]} for number in range(1000)]
    document = {"metrics": metrics, "stopped": [f"m{number}:{'0' * 12}" for number in range(1000)]}
    assert len(listed_in(json.dumps(document).encode())) == MAX_STOPPED


@for_each(
    "document",
    [b"", b"[]", b"{}", b'{"metrics": []}', b'{"stopped": []}', b'{"metrics": [{"metric": "os"}], "stopped": []}'],
)
def test_what_is_no_registry_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        listed_in(document)


@settings(derandomize=True, deadline=None)
@given(st.data())
def test_no_changed_byte_makes_a_reader_crash(data: st.DataObject) -> None:
    for content, read in ((registry_document(REGISTRY), listed_in), (Stops((A,), {B: 7}).encode(), Stops.decode)):
        raw = bytearray(content)
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        with contextlib.suppress(ValueError):
            read(bytes(raw))
