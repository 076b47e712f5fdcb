"""How a number becomes a point of a grid: unbiased, with one coin, and exact at the points."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.protocol import Coins
from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.kinds.grid import exact
from client_sdk.protocol.kinds.number import Number
from tests.support.laws.coins import exact_law
from tests.support.laws.law_checks import ROUNDING_CHECKS, RoundingCheck

RANGES = [(Fraction(0), Fraction(1)), (Fraction(-3), Fraction(11, 2)), (Fraction(1, 10), Fraction(5000))]
GRIDS = [2, 3, 4, 7, 16, 33]


@pytest.mark.parametrize("check", ROUNDING_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("points", GRIDS)
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_number_is_rounded_by_the_law(low: Fraction, high: Fraction, points: int, check: RoundingCheck) -> None:
    domain = Number(low, high, "mean")

    def rounding(position: Fraction, points: int, coins: Coins) -> int:
        return domain.encode(low + position * (high - low) / (points - 1), points, coins)

    check(rounding, points)


ANSWERS: list[object] = [0, 1, -7, 10**30, 0.1, 1 / 3, 5e-324, 1.7e308, math.inf, 5000.0]
ANSWERS += [Decimal("0.1"), Decimal("1e-500"), Decimal("-1e500"), Fraction(1, 3), Fraction(11, 2), Fraction(-10, 3)]


@pytest.mark.parametrize("points", [*GRIDS, 6955])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_the_integers_of_the_law_are_those_of_its_fractions(low: Fraction, high: Fraction, points: int) -> None:
    domain = Number(low, high, "mean")
    for answer in ANSWERS:
        place = (min(max(exact(answer), low), high) - low) / (high - low) * (points - 1)
        point = min(int(place), points - 2)
        upper = Fraction(int((place - point) * COIN_SCALE), COIN_SCALE)
        assert domain.law(answer, points) == {at: p for at, p in ((point, 1 - upper), (point + 1, upper)) if p}
        assert domain.within(answer) == min(max(exact(answer), low), high)


@pytest.mark.parametrize("answer", [2, 2.0, Decimal(2), Fraction(2), Decimal("2.000")])
def test_the_law_of_an_answer_does_not_depend_on_its_type(answer: object) -> None:
    domain = Number(Fraction(0), Fraction(8), "mean")
    assert exact_law(lambda coins: domain.encode(answer, 2, coins)) == {0: Fraction(3, 4), 1: Fraction(1, 4)}


def test_a_float_is_read_as_it_is_written() -> None:
    domain = Number(Fraction(0), Fraction(1, 10), "mean")
    assert exact_law(lambda coins: domain.encode(0.1, 2, coins)) == {1: 1}
    assert exact_law(lambda coins: domain.encode(0.05, 2, coins)) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
