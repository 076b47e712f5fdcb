"""How a number becomes a point of a grid: unbiased, with one coin, and exact at the points."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from client_sdk.protocol import Coins
from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.kinds.grid import exact
from client_sdk.protocol.kinds.number import LogNumber, Number, log_units
from tests.support.core.tables import for_each
from tests.support.laws.coins import exact_law
from tests.support.laws.law_checks import ROUNDING_CHECKS, RoundingCheck

RANGES = [(Fraction(0), Fraction(1)), (Fraction(-3), Fraction(11, 2)), (Fraction(1, 10), Fraction(5000))]
GRIDS = [2, 3, 4, 7, 16, 33]


@for_each("check", ROUNDING_CHECKS)
@for_each("points", GRIDS)
@for_each("low, high", RANGES)
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


LOGARITHMIC = [(Fraction(0), Fraction(9)), (Fraction(0), Fraction(10**9)), (Fraction(1, 2), Fraction(77, 10))]
DIGITS = Context(prec=60)
"""Enough to tell a step of 2**-64 apart, beside logarithms of numbers up to 10**9."""

AS_EXACT = Fraction(3, 2**62)
"""Of the range: each logarithm is at most a step of 2**-64 too low, and log2 of the range is above
1. The rounding itself is exact to 2**-64.
"""

Place = Callable[[LogNumber, Fraction], Fraction]
"""Where an answer lies, from 0 to 1."""


def logarithm(number: Fraction) -> Decimal:
    """Return ln(1 + x), correctly rounded to 60 digits by `decimal`."""
    above = number + 1
    return DIGITS.ln(DIGITS.divide(Decimal(above.numerator), Decimal(above.denominator)))


def is_of_logarithms(place: Place) -> bool:
    """Return whether places are those of logarithms, and rise with the answers."""
    for low, high in LOGARITHMIC:
        domain, width = LogNumber(low, high, "mean"), high - low
        answers = [low + width * Fraction(part, 10**9) for part in (0, 1, 2, 10, 10**4, 10**8, 333333333, 10**9)]
        places = [place(domain, answer) for answer in answers]
        first, last = map(logarithm, (low, high))
        true = [Fraction(DIGITS.divide(logarithm(answer) - first, last - first)) for answer in answers]
        are_near = all(abs(each - exact) <= AS_EXACT for each, exact in zip(places, true, strict=True))
        if not are_near or places != sorted(places) or places[:: len(places) - 1] != [0, 1]:
            return False
    return True


def _by_floats(domain: LogNumber, answer: Fraction) -> Fraction:
    low, number, high = (Fraction(math.log1p(each)) for each in (domain.low, answer, domain.high))
    return (number - low) / (high - low)


def _of_fewer_digits(domain: LogNumber, answer: Fraction) -> Fraction:
    low, number, high = (Fraction(log_units(1 + each) >> 8) for each in (domain.low, answer, domain.high))
    return (number - low) / (high - low)


def _without_one_more(domain: LogNumber, answer: Fraction) -> Fraction:
    low, number, high = (Fraction(log_units(max(Fraction(1), each))) for each in (domain.low, answer, domain.high))
    return (number - low) / (high - low)


PLACES: dict[str, Place] = {
    "of floats": _by_floats,
    "of 56 binary digits": _of_fewer_digits,
    "of log(x)": _without_one_more,
    "even": lambda domain, answer: Fraction(*Number.part(domain, answer)),
}


def test_a_number_of_magnitudes_lies_where_its_logarithm_does() -> None:
    assert is_of_logarithms(LogNumber.position)


@pytest.mark.parametrize("mutant", PLACES)
def test_other_places_are_not_those_of_logarithms(mutant: str) -> None:
    assert not is_of_logarithms(PLACES[mutant])


@pytest.mark.parametrize("points", GRIDS)
def test_the_mean_point_of_a_number_of_magnitudes_is_its_place(points: int) -> None:
    domain = LogNumber(Fraction(0), Fraction(10**6), "mean")
    for answer in (0, 1, 12, Decimal("99.5"), 10**6):
        law = exact_law(lambda coins, answer=answer: domain.encode(answer, points, coins))  # type: ignore[misc] # a default
        mean = sum((point * chance for point, chance in law.items()), start=Fraction(0))
        assert abs(mean - domain.position(answer) * (points - 1)) <= Fraction(1, 2**64)
        assert law == domain.law(answer, points)
