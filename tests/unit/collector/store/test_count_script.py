from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import MAX_REPORTS
from collector.embedded.store import SETTINGS
from collector.store.count_script import ID_BYTES, MOST_BYTES, pack, unpack


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(reports=st.integers(1, MAX_REPORTS), counted=st.sets(st.integers(0, MAX_REPORTS - 1), min_size=1))
def test_which_reports_were_counted_survives_being_remembered(reports: int, counted: set[int]) -> None:
    listed = sorted(index for index in counted if index < reports) or [0]
    remembered = unpack(pack(reports, listed))
    assert (remembered.reports, sorted(remembered.counted)) == (reports, listed)


def test_however_many_were_counted_they_take_a_byte_each_or_a_bitmap() -> None:
    for number in range(1, MAX_REPORTS + 1):
        spread_out = sorted((index * 97) % MAX_REPORTS for index in range(number))
        packed = pack(MAX_REPORTS, spread_out)
        assert len(packed) <= min(number + 1, MOST_BYTES)
        assert sorted(unpack(packed).counted) == spread_out


def test_an_upload_with_what_is_remembered_of_it_never_makes_a_bucket_a_large_set() -> None:
    assert int(SETTINGS["zset-max-listpack-value"]) >= ID_BYTES + MOST_BYTES


def test_a_fully_counted_upload_takes_one_byte() -> None:
    assert [pack(reports, range(reports)) for reports in (1, 4, 256)] == [b"\0", b"\3", b"\xff"]


def test_no_list_is_as_long_as_a_bitmap() -> None:
    assert max(len(pack(MAX_REPORTS, range(length))) for length in range(1, 32)) < MOST_BYTES


@pytest.mark.parametrize("packed", [b"\x03\x00\x00\x09", b"\x03\x04", b"\x03" + b"\xff" * 32, bytes(1 + 34)])
def test_bytes_that_were_never_remembered_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="not a record of an upload"):
        unpack(packed)
