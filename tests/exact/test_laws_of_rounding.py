"""How a number becomes a point of a grid: unbiased, with one coin, and exact at the points."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from client_sdk.protocol import Coins
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


@pytest.mark.parametrize("answer", [2, 2.0, Decimal(2), Fraction(2), Decimal("2.000")])
def test_the_law_of_an_answer_does_not_depend_on_its_type(answer: object) -> None:
    domain = Number(Fraction(0), Fraction(8), "mean")
    assert exact_law(lambda coins: domain.encode(answer, 2, coins)) == {0: Fraction(3, 4), 1: Fraction(1, 4)}


def test_a_float_is_read_as_it_is_written() -> None:
    domain = Number(Fraction(0), Fraction(1, 10), "mean")
    assert exact_law(lambda coins: domain.encode(0.1, 2, coins)) == {1: 1}
    assert exact_law(lambda coins: domain.encode(0.05, 2, coins)) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
