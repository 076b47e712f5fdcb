"""Windows: UTC days, ISO weeks and months, each with one name.

The edge cases are in tests/vectors/windows.json.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Window, WindowError, WindowKind
from client_sdk.protocol.window_steps import later

LAST_INSTANT_S = int(datetime(9998, 12, 28, tzinfo=UTC).timestamp())
"""The last Monday that begins a week wholly within the last year that has windows."""

instants = st.integers(min_value=0, max_value=LAST_INSTANT_S - 1)
kinds = st.sampled_from(WindowKind)


@settings(derandomize=True, deadline=None)
@given(kinds, instants)
def test_the_window_of_an_instant_holds_it_and_its_name_parses_back(kind: WindowKind, instant_s: int) -> None:
    window = Window.at(kind, instant_s)
    assert window.starts_at <= instant_s < window.ends_at
    parsed = Window.parse(window.text)
    assert parsed == window
    assert (parsed.starts_at, parsed.ends_at) == (window.starts_at, window.ends_at)


@settings(derandomize=True, deadline=None)
@given(kinds, instants)
def test_windows_of_a_kind_follow_each_other_without_gap_or_overlap(kind: WindowKind, instant_s: int) -> None:
    window = Window.at(kind, instant_s)
    assert Window.at(kind, window.starts_at) == window
    assert Window.at(kind, window.ends_at - 1) == window
    assert Window.at(kind, window.ends_at).starts_at == window.ends_at


@settings(derandomize=True, deadline=None)
@given(instants)
def test_iso_weeks_agree_with_the_calendar_of_the_standard_library(instant_s: int) -> None:
    year, week, _ = datetime.fromtimestamp(instant_s, UTC).isocalendar()
    assert Window.at(WindowKind.WEEK, instant_s).text == f"{year:04}-W{week:02}"


@pytest.mark.parametrize("before_midnight_s", [1, 0.5, 1e-3, 1e-6, 1e-7])
def test_an_instant_just_before_midnight_is_still_of_the_old_day(before_midnight_s: float) -> None:
    assert Window.at(WindowKind.DAY, 86_400 - before_midnight_s).text == "1970-01-01"


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.one_of(st.text(), st.from_regex(r"\A[0-9+-]{4}-?W?[0-9]{1,2}(-[0-9]{1,2})?\Z")))
def test_any_text_either_names_a_window_by_exactly_its_name_or_is_refused(text: str) -> None:
    with contextlib.suppress(WindowError):
        window = Window.parse(text)
        assert window.text == text
        assert text.isascii()


def test_a_refused_text_is_not_echoed() -> None:
    with pytest.raises(WindowError) as caught:
        Window.parse("marked-content")
    assert "marked" not in str(caught.value)
    assert "2026-11-20" in str(caught.value)


def test_windows_of_different_kinds_with_the_same_first_day_differ() -> None:
    first = date(2026, 6, 1)
    assert len({Window(kind, first) for kind in WindowKind}) == 3


@settings(derandomize=True, deadline=None)
@given(kinds, instants, st.integers(0, 60))
def test_a_later_window_is_reached_one_by_one(kind: WindowKind, instant_s: int, windows: int) -> None:
    window = reached = Window.at(kind, instant_s)
    for _ in range(windows):
        reached = Window.at(kind, reached.ends_at)
    assert later(window, windows) == reached


@pytest.mark.parametrize("text", ["9998-12-31", "9998-W52", "9998-12", "2026-11-20", "2026-11"])
def test_no_window_is_later_than_the_calendar(text: str) -> None:
    for windows in (10**6, 10**7, 10**30):
        with pytest.raises(WindowError):
            later(Window.parse(text), windows * 10)
