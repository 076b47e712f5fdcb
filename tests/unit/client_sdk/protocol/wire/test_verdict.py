"""Refusals are a closed enumeration; of the header of stopped questions only entries are read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_sdk.protocol import Refusal, Registry, RegistryError
from client_sdk.protocol.wire.verdict import MAX_STOPPED, MAX_STOPPED_CHARS, decode_stopped, encode_stopped
from tests.support.core.tables import for_each
from tests.support.devices.clients import REGISTRY, registry
from tests.support.vectors import vectors

ONE = "dark_mode:0123456789ab"
NAMES = st.builds("a{}".format, st.text("abz019_", max_size=63))
METRICS = st.tuples(NAMES, st.text("0123456789abcdef", min_size=12, max_size=12))


@pytest.mark.slow
@given(st.lists(METRICS, max_size=40))
def test_a_list_that_a_collector_may_send_is_read_as_it_was_written(metrics: list[tuple[str, str]]) -> None:
    header = encode_stopped(metrics)
    assert decode_stopped(header) == (tuple(metrics) if len(header) <= MAX_STOPPED_CHARS else ())


@given(st.text(max_size=200) | st.lists(st.sampled_from([ONE, "*", "a:*", ":", "", "A:0"])).map(",".join))
def test_of_anything_else_only_the_entries_that_name_a_metric_are_read(header: str) -> None:
    entries = [entry.strip(" ") for entry in header.split(",")[:MAX_STOPPED]]
    assert len(decode_stopped(header)) == entries.count(ONE)
    assert set(decode_stopped(header)) <= {("dark_mode", "0123456789ab")}


@pytest.mark.parametrize(
    ("header", "read"),
    [
        *((None, 0), ("", 0), ("*", 0), ("dark_mode", 0), ("0123456789ab", 0), (f"{ONE}\n", 0), (f"{ONE}, {ONE}", 2)),
        (f"{ONE};q=1,{ONE}", 1),
        (",".join(f"m{number}:0123456789ab" for number in range(MAX_STOPPED + 9)), MAX_STOPPED),
        (f"{ONE},{'x' * MAX_STOPPED_CHARS}", 0),
    ],
)
def test_garbage_is_left_out_and_a_list_has_its_bounds(header: str | None, read: int) -> None:
    assert len(decode_stopped(header)) == read


def test_the_vectors_of_other_sdks_are_read_so() -> None:
    for vector in vectors("stopped"):
        assert [encode_stopped([each]) for each in decode_stopped(vector["header"])] == vector["stopped"]


def listing(stopped: str) -> Registry:
    return registry(f"stopped = {stopped}\n{REGISTRY}")


def test_a_registry_lists_what_is_stopped_and_no_edition_changes_by_it() -> None:
    listed = listing(f'["{ONE}"]')
    assert listed.stopped == (("dark_mode", "0123456789ab"),)
    assert listed.metrics == registry().metrics
    assert registry().stopped == ()


@for_each("stopped", ["[]", '"dark_mode"', '["dark_mode"]', f'["{ONE}", "{ONE}"]', "[1]", "true", f'["{ONE.upper()}"]'])
def test_a_registry_whose_list_no_device_would_understand_is_refused(stopped: str) -> None:
    with pytest.raises(RegistryError, match=r"^stopped: must list metrics with their editions"):
        listing(stopped)


@pytest.mark.parametrize("name", ["m{}", "a_name_of_fifty_two_characters_that_fills_a_header_{}"])
def test_a_registry_lists_no_more_than_a_header_carries(name: str) -> None:
    entries = [f'"{name.format(number)}:0123456789ab"' for number in range(MAX_STOPPED + (name == "m{}"))]
    with pytest.raises(RegistryError, match="at most 64 entries and 2048 characters"):
        listing(f"[{', '.join(entries)}]")


@for_each("refusal", Refusal)
def test_every_refusal_has_a_sentence_for_people(refusal: Refusal) -> None:
    assert re.fullmatch(r"[A-Z].+[.]", refusal.sentence)


@for_each("refusal", Refusal)
def test_every_code_is_its_name_in_lower_case(refusal: Refusal) -> None:
    assert refusal.value == refusal.name.lower()
    assert Refusal(refusal.value) is refusal


def test_sentences_tell_refusals_apart() -> None:
    assert len({refusal.sentence for refusal in Refusal}) == len(Refusal)


def test_only_what_another_registry_of_the_collector_would_cure_may_be_retried() -> None:
    cured = {Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION, Refusal.FORMER_EDITION}
    assert {refusal for refusal in Refusal if refusal.retryable} == cured
