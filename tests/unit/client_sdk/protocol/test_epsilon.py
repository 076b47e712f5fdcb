"""Epsilon as a definition asks for it: a number, or ln of one; nothing else."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.epsilon import NANOS, as_float
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.requested_epsilon import GREATEST_EPSILON, LEAST_EPSILON, RequestedEpsilon
from tests.support.core.tables import for_each
from tests.support.laws.series import exp_bounds


@for_each(
    "raw",
    [
        *(0, -1, 21, 10**30, 0.0, -0.5, 20.000001, 1e-7, float("nan"), float("inf"), float("-inf")),
        *(Decimal("nan"), Decimal("sNaN"), Decimal("inf"), Decimal("1e999999999"), Decimal("1e-999999999")),
        *(True, False, None, [], {}, [1.0], b"1"),
        *("", "1", "ln", "ln ", "ln x", "ln 0", "ln -3", "ln 1", "ln 1.0", "ln nan", "ln inf", "ln 1e9"),
        *("ln 10000000000", "ln 3 3", "ln(3)", "log 3", "LN 3", "ln3", " ln 3", "ln 3 ", "ln\t3", "ln 3\n"),
        *("ln 1_0", "ln \uff13", "ln +3"),
        *("ln .5", "ln 3.", "ln " + "9" * 5000, "ln 0." + "0" * 5000),
    ],
)
def test_what_is_no_epsilon_is_refused_with_what_would_be_right(raw: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        RequestedEpsilon.parse(raw)


@pytest.mark.parametrize("raw", [1, 1.0, Decimal(1), Decimal("1.000")])
def test_one_epsilon_written_in_several_ways_has_the_same_odds(raw: object) -> None:
    low, high = exp_bounds(Fraction(1))
    assert RequestedEpsilon.parse(raw).odds == RequestedEpsilon.parse(1).odds
    assert low * (1 - Fraction(1, 10**40)) < RequestedEpsilon.parse(raw).odds < high


@pytest.mark.parametrize(("raw", "odds"), [("ln 3", 3), ("ln  3", 3), ("ln 3.0", 3), ("ln 1.5", Fraction(3, 2))])
def test_the_odds_of_a_logarithm_are_exact(raw: str, odds: Fraction | int) -> None:
    assert RequestedEpsilon.parse(raw).odds == odds
    assert RequestedEpsilon.parse(raw).text == raw


def test_the_ends_of_the_range_are_within_it() -> None:
    for end in (LEAST_EPSILON, GREATEST_EPSILON):
        assert RequestedEpsilon.parse(end).odds > 1


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.decimals(min_value=LEAST_EPSILON, max_value=GREATEST_EPSILON, places=6))
def test_the_odds_are_never_above_e_to_the_request_and_a_report_is_charged_just_the_request(epsilon: Decimal) -> None:
    requested = RequestedEpsilon.parse(epsilon)
    assert requested.odds < exp_bounds(Fraction(epsilon))[1]
    assert epsilon_nanos(RandomizedResponse.within(requested)) == epsilon * NANOS


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.one_of(st.text(), st.text().map("ln {}".format), st.floats(), st.decimals(), st.integers(), st.booleans()))
def test_anything_is_an_epsilon_in_range_or_a_value_error(raw: object) -> None:
    try:
        odds = RequestedEpsilon.parse(raw).odds
    except ValueError:
        return
    assert 1 < odds < exp_bounds(Fraction(GREATEST_EPSILON))[1]


def test_a_charge_is_shown_as_a_float_that_is_not_below_it() -> None:
    assert as_float(10**9) == 1.0
    assert Fraction(as_float(1_098_612_289)) >= Fraction(1_098_612_289, NANOS)
