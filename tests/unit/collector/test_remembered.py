from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.spec import Refusal, Verdict
from collector.remembered import REFUSAL_BYTES, pack, unpack

REFUSED = st.dictionaries(st.integers(0, 255), st.sampled_from(list(Refusal)), max_size=256)


@settings(derandomize=True, deadline=None)
@given(reports=st.integers(1, 256), refused=REFUSED)
def test_a_verdict_survives_being_remembered(reports: int, refused: dict[int, Refusal]) -> None:
    pairs = tuple(sorted((place, refusal) for place, refusal in refused.items() if place < reports))
    assert unpack(pack(reports, pairs)) == Verdict(reports, pairs)


def test_every_refusal_has_a_byte_of_its_own() -> None:
    assert set(REFUSAL_BYTES) == set(Refusal)
    assert len(set(REFUSAL_BYTES.values())) == len(REFUSAL_BYTES)


def test_the_bytes_of_schema_1_stay_what_they_are() -> None:
    assert {refusal.value: byte for refusal, byte in REFUSAL_BYTES.items()} == {
        "unknown_metric": 1,
        "unknown_edition": 2,
        "wrong_window": 3,
        "window_in_future": 4,
        "window_closed": 5,
        "metric_expired": 6,
        "symbol_out_of_range": 7,
    }


def test_a_verdict_without_refusals_takes_one_byte() -> None:
    assert [len(pack(reports, ())) for reports in (1, 4, 256)] == [1, 1, 1]


@pytest.mark.parametrize("order", [b"\x03\x02\x02\x05\x00\x00\x07", b"\x03\x00\x00\x07\x02\x02\x05"])
def test_refusals_that_the_store_appends_are_sorted_in(order: bytes) -> None:
    assert unpack(order) == Verdict(4, ((0, Refusal.SYMBOL_OUT_OF_RANGE), (2, Refusal.WINDOW_CLOSED)))


def test_refusals_of_one_kind_in_a_row_take_three_bytes_together() -> None:
    assert pack(256, tuple((index, Refusal.WINDOW_CLOSED) for index in range(256))) == b"\xff\x00\xff\x05"
