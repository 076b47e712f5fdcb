"""A figure, its interval and its error are rounded once, to the same place, half to even."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from estimator.render.rounding import MINUS, SENTENCE_FIGURES, digits_for, number, percent, size_of, text_of

SPACE = "\N{NO-BREAK SPACE}"
FINITE = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("standard_error", "digits"),
    [(1.3, 1), (0.013, 3), (0.0996, 2), (0.0994, 3), (9.96, 0), (12, 0), (123, -1), (99.6, -1), (1e-100, 101)],
)
def test_two_figures_of_an_error_decide_the_place(standard_error: float, digits: int) -> None:
    assert digits_for(standard_error) == digits


def test_a_sentence_shows_one_figure_of_the_error_and_a_table_two() -> None:
    brief = percent(0.1163, 0.0918, 0.1408, 0.0125, SENTENCE_FIGURES)
    assert brief.about == "about 12% (9 to 15%)"
    exact = percent(0.1163, 0.0918, 0.1408, 0.0125)
    assert (exact.estimate, exact.error, exact.interval) == ("11.6", "1.2", "9.1 to 14.1%")


def test_a_sentence_about_a_share_is_never_coarser_than_a_percent() -> None:
    assert percent(0.5, 0.389, 0.674, 0.12, SENTENCE_FIGURES).about == "about 50% (38 to 68%)"


def test_an_impossible_share_is_shown_as_the_nearer_end() -> None:
    shown = percent(-0.126, 0.0, 0.021, 0.07, SENTENCE_FIGURES)
    assert shown.about == "about 0% (0 to 3%)"


def test_what_is_at_most_so_large_is_rounded_up() -> None:
    assert (size_of(0.0121), size_of(0.012001, 2, 2), size_of(1234.0), size_of(0.0)) == ("0.013", "1.3", "1,300", "0")


def test_numbers_are_rounded_to_tens_and_more_where_the_error_is_so_large() -> None:
    shown = number(41_234.5, 36_111, 46_333, 2_550, "ms")
    assert (shown.estimate, shown.error, shown.interval) == ("41,200", "2,600", f"36,100 to 46,400{SPACE}ms")


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ((28, 16, 28, 12), "about 28 (16 to 28)"),
        ((20, 0, 28, 12), "about 20 (0 to 28)"),
        ((46, 0, 46, 35), "about 46 (0 to 46)"),
        ((655, 0, 660, None), "about 660 (0 to 660)"),
        ((5, 4.97, 5, 1.2), "about 5.000 (4.970 to 5.000)"),
        ((28, 28, 28, 12), "about 28 (28 to 28)"),
        ((1 / 3, 1 / 3, 1 / 3, 35), "about 0.3333 (0.3333 to 0.3334)"),
        ((41_234.5, 36_111, 46_333, 2_550), "about 41,000 (36,000 to 47,000)"),
    ],
)
def test_a_number_is_not_rounded_out_of_a_short_interval(
    figure: tuple[float, float, float, float | None], text: str
) -> None:
    assert number(*figure, figures=SENTENCE_FIGURES).about == text


@pytest.mark.parametrize(
    ("figure", "possible", "text"),
    [
        ((23, 0, 46, 12), (0, 46), "about 20 (0 to 46)"),
        ((23, 0, 45.8, 12), (0, 46), "about 20 (0 to 46)"),
        ((300, -65, 655, 120), (-65, 655), f"about 300 ({MINUS}65 to 655)"),
        ((0.7, 0.25, 1.25, 0.3), (0.05, 1.25), "about 0.7 (0.2 to 1.25)"),
        ((0.7, 0.06, 1.26, 0.3), (0.06, 1.26), "about 0.7 (0.06 to 1.26)"),
    ],
)
def test_an_end_is_not_rounded_past_what_is_possible(
    figure: tuple[float, float, float, float], possible: tuple[float, float], text: str
) -> None:
    assert number(*figure, figures=SENTENCE_FIGURES, possible=possible).about == text


@given(st.integers(1, 10**7), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(1e-3, 1e6))
def test_whatever_is_possible_is_shown_as_possible(
    most: int, first: float, second: float, third: float, error: float
) -> None:
    low, value, high = sorted(most * each for each in (first, second, third))
    shown = number(value, low, high, error, possible=(0, most))
    texts = (shown.estimate, shown.low, shown.high, shown.beside(value))
    read = [float(text.replace(",", "").replace(MINUS, "-")) for text in texts]
    assert all(0 <= each <= most for each in read)


@example(1, 0.471, 0.471, 1.0, 0.01)
@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(1e-3, 1e6))
def test_a_shown_number_lies_in_its_interval(
    most: int, first: float, second: float, third: float, error: float
) -> None:
    low, value, high = sorted(most * each for each in (first, second, third))
    shown = number(value, low, high, error, figures=SENTENCE_FIGURES)
    read = float(shown.estimate.replace(",", "").split("e")[0])
    assert low - 1e-3 * value <= read <= high + 1e-3 * value or value < 1e-3


def test_no_figure_is_unknown_and_a_missing_error_is_taken_from_the_interval() -> None:
    assert percent(None, 0.0, 1.0).about == "unknown (0 to 100%)"
    assert number(3.14159, 3.1, 3.2).estimate == "3.142"
    assert number(7.0, 7.0, 7.0).interval == "7.000 to 7.000"
    assert number(0.0, 0.0, 0.0).estimate == "0.000"


@pytest.mark.parametrize(
    ("value", "decimals", "power", "text"),
    [
        (0.125, 2, 0, "0.12"),
        (0.135, 2, 0, "0.14"),
        (2.675, 2, 0, "2.68"),
        (0.00125, 2, 2, "0.12"),
        (-0.004, 2, 0, "0.00"),
        (-1234.5, 0, 0, f"{MINUS}1,234"),
        (149.0, -2, 0, "100"),
        (1.25e-100, 101, 0, f"1.2e{MINUS}100"),
        (-1.5e15, 0, 0, f"{MINUS}1.500000000000000e+15"),
        (1.5e15, -14, 0, "1.5e+15"),
        (0.0, 101, 0, "0.000000"),
    ],
)
def test_a_number_is_rounded_from_its_decimal_half_to_even(value: float, decimals: int, power: int, text: str) -> None:
    assert text_of(value, decimals, power) == text


@given(FINITE, st.floats(1e-4, 1e5), st.floats(0, 100), st.floats(0, 100))
def test_an_estimate_is_within_half_a_place_of_its_value_and_an_end_within_a_place(
    value: float, error: float, below: float, above: float
) -> None:
    low, high = value - below * error, value + above * error
    shown = number(value, low, high, error)
    place = Decimal(1).scaleb(-digits_for(error))
    read = [Decimal(text.replace(",", "").replace(MINUS, "-")) for text in (shown.estimate, shown.error)]
    for number_read, exact in zip(read, (value, error), strict=True):
        assert abs(number_read - Decimal(repr(exact))) <= place / 2
    ends = [Decimal(text.replace(",", "").replace(MINUS, "-")) for text in (shown.low, shown.high)]
    assert Decimal(repr(low)) - place <= ends[0] <= Decimal(repr(low))
    assert Decimal(repr(high)) <= ends[1] <= Decimal(repr(high)) + place
