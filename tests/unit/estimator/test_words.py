"""Numbers before a word: 1 takes the singular, 0 and more the plural."""

from __future__ import annotations

from estimator.words import plural, shown_of


def test_the_number_one_takes_the_singular_and_others_the_plural() -> None:
    assert [plural(number, "report") for number in (0, 1, 2)] == ["0 reports", "1 report", "2 reports"]
    assert [plural(number, "tally", "tallies") for number in (1, 1024)] == ["1 tally", "1,024 tallies"]


def test_a_single_thing_is_never_left_out() -> None:
    assert [shown_of(number, 5) for number in (0, 5, 6, 7, 100)] == [0, 5, 6, 5, 5]
