"""Domains: what may be answered; nothing else is accepted or shown."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np
import pytest

from client_sdk.protocol import COIN_SCALE
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.grid import BEYOND, ratio_of
from client_sdk.protocol.kinds.number import Count, Number, decimal_in
from tests.support.core.tables import for_each
from tests.support.laws.coins import ScriptedCoins

NO_COINS = ScriptedCoins([])
VISITS = Number(Fraction(0), Fraction(10), "mean")
UNCLIPPED = Number(Fraction(0), Fraction(10), "mean", clip=False)


class Text(str):
    __slots__ = ()


class Other:
    def __init__(self, worth: float | None) -> None:
        self._worth = worth

    def __float__(self) -> float:
        if self._worth is None:
            raise OverflowError
        return self._worth


Real.register(Other)


def test_a_boolean_takes_true_and_false_and_nothing_that_is_like_them() -> None:
    assert [Boolean().encode(answer, 2, NO_COINS) for answer in Boolean().labels] == [0, 1]
    for answer in (0, 1, "true", None, 1.0, [], object(), np.bool_(1)):
        with pytest.raises(DomainError):
            Boolean().encode(answer, 2, NO_COINS)


def test_a_category_takes_its_values_in_order_and_nothing_else() -> None:
    domain = Category(("a", "b", "1"))
    assert [domain.encode(answer, 3, NO_COINS) for answer in domain.labels] == [0, 1, 2]
    assert domain.encode(Text("b"), 3, NO_COINS) == 1
    for answer in ("c", "A", "a ", "", 1, 0, None, b"a", ["a"], {"a": 1}, float("nan")):
        with pytest.raises(DomainError):
            domain.encode(answer, 3, NO_COINS)


@for_each(
    "answer",
    [
        *(True, False, None, "5", b"5", [5], 5 + 0j, object()),
        *(float("nan"), Decimal("nan"), Decimal("sNaN"), np.float32("nan"), np.bool_(1), Other(None)),
    ],
)
def test_what_is_no_number_is_refused_at_once(answer: object) -> None:
    for domain in (VISITS, UNCLIPPED):
        with pytest.raises(DomainError):
            domain.encode(answer, 2, NO_COINS)


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        *((answer, 0) for answer in (-1, -1e-300, -(10**400), Fraction(-1, 10**50), float("-inf"))),
        *((answer, 0) for answer in (Decimal("-inf"), Decimal("-1e999999999"), np.float32("-inf"))),
        *((answer, 1) for answer in (11, 10.000000000000002, 10**400, Fraction(21, 2), float("inf"))),
        *((answer, 1) for answer in (Decimal("inf"), Decimal("1e999999999"), np.float32("inf"), np.int64(11))),
    ],
    ids=str,
)
def test_a_number_beyond_an_end_of_the_range_is_that_end_unless_it_is_not_clipped(answer: object, end: int) -> None:
    with ScriptedCoins([end == 1]) as coins:
        assert VISITS.encode(answer, 2, coins) == end
    assert coins.requests == [("bernoulli", COIN_SCALE * end)]
    with pytest.raises(DomainError) as caught:
        UNCLIPPED.encode(answer, 2, NO_COINS)
    assert caught.value.args == ()


@pytest.mark.parametrize("answer", [Decimal("1e-999999999"), Decimal("-0e999999999"), Decimal("0e-999999999")], ids=str)
def test_a_decimal_that_is_too_near_0_to_be_a_fraction_is_0(answer: Decimal) -> None:
    for domain in (VISITS, UNCLIPPED):
        assert domain.encode(answer, 2, ScriptedCoins([False])) == 0


@pytest.mark.parametrize(
    ("answer", "exact"),
    [
        *((np.int64(5), Fraction(5)), (np.uint8(5), Fraction(5)), (np.float32(0.1), Fraction("0.10000000149011612"))),
        *((np.float64(0.1), Fraction(1, 10)), (np.float16(2.5), Fraction(5, 2)), (np.longdouble(2.5), Fraction(5, 2))),
        *((0.1, Fraction(1, 10)), (Decimal("0.1"), Fraction(1, 10)), (Fraction(1, 3), Fraction(1, 3))),
        (Other(0.1), Fraction(1, 10)),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_a_number_of_any_library_is_taken_as_it_is(answer: object, exact: Fraction) -> None:
    drawn = ScriptedCoins([False])
    points = 10**6
    assert VISITS.encode(answer, points, drawn) == int(exact / 10 * (points - 1))
    position = exact / 10 * (points - 1)
    assert drawn.requests == [("bernoulli", int((position - int(position)) * COIN_SCALE))]


def test_a_count_takes_whole_numbers_of_any_library() -> None:
    taps = Count(Fraction(10), "distribution")
    assert taps.encode(np.int64(5), 11, ScriptedCoins([False])) == taps.encode(5, 11, ScriptedCoins([False])) == 5
    for answer in (np.float64(5), 5.0, np.bool_(1), Decimal(5)):
        with pytest.raises(DomainError):
            taps.encode(answer, 11, NO_COINS)


@pytest.mark.parametrize(
    ("answer", "numerator"),
    [
        *((0, 0), (-0.0, 0), (5e-324, 0), (10, COIN_SCALE), (10.0, COIN_SCALE), (5, COIN_SCALE // 2)),
        *((Decimal("2.5"), COIN_SCALE // 4), (Fraction(10, 3), COIN_SCALE // 3), (0.1, COIN_SCALE // 100)),
    ],
)
def test_a_number_asks_one_coin_of_its_place_in_the_range_cut_down(answer: float, numerator: int) -> None:
    coins = ScriptedCoins([numerator == COIN_SCALE])
    assert VISITS.encode(answer, 2, coins) == int(numerator == COIN_SCALE)
    coins.finish()
    assert coins.requests == [("bernoulli", numerator)]


@for_each("text", ["0.1", "0.2", "0.3", "0.7", "1.1", "2.3", "1e22", "1e23", "123456.789"])
def test_a_bound_written_in_decimal_takes_the_float_of_the_same_decimal(text: str) -> None:
    bound = Fraction(Decimal(text))
    assert Number(bound, bound + 1, "mean").encode(float(text), 2, ScriptedCoins([False])) == 0
    assert Number(bound - 1, bound, "mean").encode(float(text), 2, ScriptedCoins([True])) == 1


def test_a_decimal_beyond_400_digits_is_taken_for_zero_or_for_a_number_beyond_any_range() -> None:
    assert ratio_of(Decimal("1e400")) == (10**400, 1)
    assert ratio_of(Decimal("1e-400")) == (1, 10**400)
    assert ratio_of(Decimal("-1e401")) == (-BEYOND, 1)
    assert ratio_of(Decimal("1e-401")) == (0, 1)


def test_the_extremes_of_a_range_are_its_ends_and_its_middle_on_request() -> None:
    assert [named.value for named in VISITS.extremes()] == [0, 10]
    assert {*(named.value for named in VISITS.extremes(midpoint=True))} == {0, 5, 10}


@pytest.mark.parametrize(
    ("cell", "number"),
    [(" 1.50 ", Decimal("1.5")), ("1e3", Decimal(1000)), ("1e99999999999999999999", None), ("1_0", None), ("", None)],
)
def test_a_cell_of_a_table_states_a_decimal_number_or_none(cell: str, number: Decimal | None) -> None:
    assert decimal_in(cell) == number
