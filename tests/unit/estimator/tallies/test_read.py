"""Tallies are read strictly, and every problem is named by its line."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.errors import TalliesError, UnfitTallyError
from estimator.tallies.tally import MOST_REPORTS, decode, read_file
from tests.support.estimates.tallies import line

SOUND = line("dark_mode", [3, 4])

WRONG = {
    "no JSON": b"hello\n",
    "no UTF-8": b"\xff\n",
    "an empty line": b"\n",
    "nested without end": b"[" * 100_000,
    "no object": b"[1]\n",
    "not a number": SOUND.replace(b"7", b"NaN"),
    "a field twice": SOUND.replace(b"{", b'{"closed": true, ', 1),
    "an unknown field": line("dark_mode", [3, 4], note=1),
    "a missing field": b'{"metric": "dark_mode"}\n',
    "a metric that is no name": line("dark_mode", [3, 4], metric="Dark Mode"),
    "an edition that is none": line("dark_mode", [3, 4], edition="xyz"),
    "a window that is none": line("dark_mode", [3, 4], window="2026-13"),
    "a window that is no text": line("dark_mode", [3, 4], window=20261120),
    "closed as a number": line("dark_mode", [3, 4], closed=1),
    "counts as a number": line("dark_mode", [3, 4], counts=7),
    "a count that is true": line("dark_mode", [3, 4], counts=[True, 6]),
    "a count that is no integer": line("dark_mode", [3, 4], counts=[3.0, 4]),
    "a negative count": line("dark_mode", [-1, 8]),
    "a count beyond 53 bits": line("dark_mode", [MOST_REPORTS + 1, 0]),
    "a sum beyond 53 bits": line("dark_mode", [MOST_REPORTS, 1]),
    "a sum beyond 64 bits": line("dark_mode", [2**62, 2**62]),
    "an object in it": SOUND.replace(b"true", b"{}"),
    "a list in it": line("dark_mode", [3, 4], symbols=[0, 1], closed=[]),
    "a sum that is not reports": line("dark_mode", [3, 4], reports=8),
    "reports that are true": line("dark_mode", [0, 1], reports=True),
    "symbols that fall": line("dark_mode", [3, 4], symbols=[1, 0]),
    "a symbol twice": line("dark_mode", [3, 4], symbols=[1, 1]),
    "a count with a zero before it": SOUND.replace(b"[3", b"[03"),
    "two counts without a comma": SOUND.replace(b"[3, 4]", b"[3 4]"),
    "a missing count": SOUND.replace(b"[3, 4]", b"[3,,4]"),
    "a comma before all counts": SOUND.replace(b"[3", b"[,3"),
    "a comma behind all counts": SOUND.replace(b"4]", b"4,]"),
    "counts that do not end": SOUND.replace(b"4]", b"4"),
    "a list that stands for another": SOUND.replace(b"[3, 4]", b'{"list":0}'),
    "fewer symbols than counts": line("dark_mode", [3, 4], symbols=[1]),
    "an integer too long to read": b'{"metric": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_named(wrong: bytes) -> None:
    with pytest.raises(TalliesError, match="line 2 "):
        decode([line("os", [1, 2, 3, 4]), wrong])


def test_a_repeated_tally_is_named_with_both_lines() -> None:
    with pytest.raises(TalliesError, match=r"line 3 repeats .* line 1"):
        decode([SOUND, line("os", [1, 2, 3, 4]), SOUND])


def test_a_tally_is_read_as_it_was_written() -> None:
    (tally,) = decode([SOUND])
    assert (tally.metric, tally.window.text, tally.closed, tally.reports) == ("dark_mode", "2026-11-20", True, 7)
    assert tally.dense(2).tolist() == [3, 4]


def test_the_largest_tally_is_exact() -> None:
    (tally,) = decode([line("dark_mode", [MOST_REPORTS - 1, 1])])
    assert tally.dense(2).tolist() == [MOST_REPORTS - 1, 1]


def test_a_sparse_tally_has_zeros_where_nothing_was_counted() -> None:
    (tally,) = decode([line("os", [5, 1], symbols=[0, 3])])
    assert tally.dense(4).tolist() == [5, 0, 0, 1]


@pytest.mark.parametrize("wrong", [line("os", [1, 2, 3]), line("os", [1], symbols=[4])])
def test_a_tally_of_another_alphabet_is_refused(wrong: bytes) -> None:
    (tally,) = decode([wrong])
    with pytest.raises(UnfitTallyError, match="4 symbols"):
        tally.dense(4)


@pytest.mark.parametrize("separator", [b",", b", ", b" , ", b",\t"])
def test_lists_are_read_however_they_are_separated(separator: bytes) -> None:
    (tally,) = decode([SOUND.replace(b"[3, 4]", b"[3" + separator + b"4]")])
    assert [*tally.counts] == [3, 4]


def test_a_long_list_of_anything_but_usual_integers_is_refused_before_it_takes_memory() -> None:
    """An object for each of its numbers would take a hundred times the bytes of the line."""
    for number in (b"1.5", b"-1", b"1 "):
        text = SOUND.replace(b"3, 4", number + (b"," + number) * 2**15)
        with pytest.raises(TalliesError, match="it must hold two lists of integers from 0"):
            decode([text])


def test_a_sparse_tally_of_nothing_is_all_zeros() -> None:
    (tally,) = decode([line("os", [], symbols=[])])
    assert tally.dense(4).tolist() == [0, 0, 0, 0]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TalliesError, match=r"gone\.ndjson cannot be read: No such file"):
        read_file(tmp_path / "gone.ndjson")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_nothing_but_the_named_error_comes_out_of_the_decoder(garbage: bytes) -> None:
    with suppress(TalliesError):
        assert not decode([garbage])


@settings(derandomize=True, deadline=None)
@given(
    st.sampled_from(["metric", "edition", "window", "closed", "reports", "counts", "symbols"]),
    JSON,
)
def test_a_changed_field_is_read_or_refused(field: str, value: object) -> None:
    with suppress(TalliesError):
        decode([line("dark_mode", [3, 4], **{field: value})])
