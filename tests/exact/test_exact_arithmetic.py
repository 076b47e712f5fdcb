"""Directed arithmetic against independent rational series: never on the wrong side, and tight."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol.epsilon import (
    NANOS,
    PRECISION_DIGITS,
    as_float,
    exp_floor,
    float_ceiling,
    ln_ceiling,
    nanos_ceiling,
)
from client_sdk.protocol.mechanisms.laplace import root_floor
from tests.support.core.tables import for_each
from tests.support.laws.series import exp_bounds, ln_bounds

EXPONENTS = [
    Fraction(number, 1000) for number in (0, 1, 10, 100, 250, 333, 500, 999, 1000, 1500, 2000, 4000, 8000, 20000)
]
RATIOS = [
    *(Fraction(3), Fraction(2), Fraction(4, 3), Fraction(10**9), Fraction(485_165_195)),
    *(1 + Fraction(1, 10**power) for power in (1, 3, 6, 9, 15)),
    Fraction(2**64 - 2**40, 2**40 + 1),
]
ULPS = Fraction(2, 10 ** (PRECISION_DIGITS - 2))
"""The documented tightness: one part in 10**48, to either side."""


@for_each("exponent", EXPONENTS)
def test_exp_floor_is_below_the_exponential_and_tight(exponent: Fraction) -> None:
    low, high = exp_bounds(exponent)
    assert low * (1 - ULPS) < exp_floor(exponent) < high


@for_each("ratio", RATIOS)
def test_ln_ceiling_is_above_the_logarithm_and_tight(ratio: Fraction) -> None:
    low, high = ln_bounds(ratio)
    slack = ULPS * max(high, Fraction(1))  # near 1 the last digit of the ratio itself is lost
    assert low < ln_ceiling(ratio) < high + slack


@for_each("degree", [1, 2, 3, 32, 256, 999])
@for_each("value", [Fraction(1), *RATIOS[:-1]])
def test_root_floor_is_below_the_root_and_tight(value: Fraction, degree: int) -> None:
    """Its power is below the value; with one part in 10**46 more for each degree, it is above."""
    root = root_floor(value, degree)
    assert 0 < root**degree < value
    assert (root * (1 + Fraction(1, 10**46))) ** degree > value


def test_the_series_themselves_enclose_known_values() -> None:
    for (low, high), digits in (
        (exp_bounds(Fraction(1)), "2.718281828459045235360287471352662497757"),
        (ln_bounds(Fraction(3)), "1.098612288668109691395245236922525704647"),
        (ln_bounds(Fraction(10)), "2.302585092994045684017991454684364207601"),
    ):
        known = Fraction(digits)
        assert known <= low <= high <= known + Fraction(1, 10**39)
    assert set(ln_bounds(Fraction(1))) == {0}


def test_the_logarithm_of_one_is_exactly_zero() -> None:
    assert ln_ceiling(Fraction(1)) == 0
    assert nanos_ceiling(Fraction(1)) == 0


def test_a_ratio_below_one_has_no_logarithm_here() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ln_ceiling(Fraction(99, 100))


@for_each("ratio", RATIOS)
def test_a_charge_is_the_least_whole_number_of_billionths_that_covers_the_loss(ratio: Fraction) -> None:
    low, high = ln_bounds(ratio)
    assert low * NANOS <= nanos_ceiling(ratio) < high * NANOS + 1


@settings(derandomize=True, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**12))
def test_float_ceiling_is_the_least_float_that_is_not_below(value: Fraction) -> None:
    ceiling = float_ceiling(value)
    assert Fraction(ceiling) >= value > Fraction(math.nextafter(ceiling, 0.0))


@settings(derandomize=True, deadline=None)
@given(st.integers(min_value=0, max_value=10**15))
def test_a_charge_as_a_float_is_never_below_the_charge(nanos: int) -> None:
    assert Fraction(as_float(nanos)) >= Fraction(nanos, NANOS)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.fractions(min_value=1, max_value=4 * 10**8))
def test_exp_of_ln_comes_back_from_above(ratio: Fraction) -> None:
    assert exp_bounds(ln_ceiling(ratio))[1] >= ratio
