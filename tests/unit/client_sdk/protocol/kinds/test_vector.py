"""A vector becomes integers by exact fractions, shortened to its norm; and what is no answer."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import isqrt, sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from client_sdk.protocol import OutsideDomainError
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.nearest import MOST_COORDINATE
from client_sdk.protocol.vector import UNIT, Vector, clipped
from tests.support.core.tables import for_each
from tests.support.devices.definitions import VECTOR, Toml, metric_of, mistakes
from tests.support.laws.coins import ScriptedCoins

D = 8
MARK = 0.31415926
"""A number whose digits must occur in no error."""


def encoded(answer: object, norm: Fraction = Fraction(1), length: int = 3) -> tuple[int, ...]:
    return Vector(length, norm).encode(answer, D, ScriptedCoins([]))


def square(vector: Sequence[int]) -> int:
    return sum(value * value for value in vector)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(-0.577, 0.577), min_size=3, max_size=3), st.sampled_from([0, -3, 5]))
def test_a_vector_within_its_norm_is_rounded_and_lifted_to_the_unit_sphere(answer: list[float], power: int) -> None:
    scaled = [number * 2.0**power for number in answer]
    vector = encoded(scaled, Fraction(2) ** power)
    assert list(vector[:3]) == [round(Fraction(number) * UNIT) for number in answer]
    assert vector[3] == isqrt(UNIT**2 - square(vector[:3]))
    assert vector[4:] == (0, 0, 0, 0)
    assert encoded(np.array(scaled), Fraction(2) ** power) == encoded(tuple(scaled), Fraction(2) ** power) == vector


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-MOST_COORDINATE * UNIT, MOST_COORDINATE * UNIT), min_size=1, max_size=5))
@example([UNIT * 9 // 10])
@example([UNIT, 1])  # the shortest that is too long
def test_a_longer_vector_keeps_its_direction_and_is_no_longer_than_the_norm(coordinates: list[int]) -> None:
    short = clipped(coordinates)
    assert square(short) <= UNIT**2
    if square(coordinates) <= UNIT**2:
        assert short == coordinates
    else:
        length = sqrt(square(coordinates))
        assert short == pytest.approx([value * UNIT / length for value in coordinates], abs=2.000001)
        assert all(abs(kept) <= abs(value) for kept, value in zip(short, coordinates, strict=True))


@for_each(
    "answer",
    [
        *([], [MARK] * 2, [MARK] * 4, [MARK, 0, float("nan")], [MARK, 0, float("inf")], [MARK, 0, 1e6 + 1]),
        *([MARK, 0, 10**400], [MARK, 0, True], [MARK, 0, "1"], [MARK, 0, None], [MARK, 0, 1j], [[MARK]] * 3),
        *({MARK: 1, 2.0: 1, 3.0: 1}, {MARK, 2.0, 3.0}, MARK, None, "abc", b"abc", iter([MARK, 1.0, 2.0]), object()),
        *([MARK, 0, Decimal(1)], np.ones((3, 3))),
    ],
)
def test_what_is_no_vector_of_the_right_length_is_refused_and_not_shown(answer: object) -> None:
    with pytest.raises(OutsideDomainError, match="a list of 3 numbers from -1,000,000 to 1,000,000") as caught:
        metric_of(VECTOR).encode(answer, ScriptedCoins([]))
    assert "31415926" not in "".join(traceback.format_exception(caught.value))


def test_numbers_of_other_types_are_numbers() -> None:
    assert encoded([Fraction(1, 2), 0, np.float32(0.5)]) == encoded([0.5, np.int64(0), 0.5])
    with pytest.raises(DomainError):
        encoded([np.bool_(1), 0, 0])


@pytest.mark.parametrize("key", ["length", "norm"])
def test_a_mistake_is_told_with_what_would_be_right(key: str) -> None:
    said = mistakes(m=VECTOR | {key: 0})
    ends = {"length": "a whole number from 1 to 4095", "norm": "from 1e-06 to 1e+06; longer vectors are shortened"}
    assert said == {f"metric.m.{key}": f"must be {ends[key]}"}


def test_the_edition_holds_length_and_norm() -> None:
    editions = {metric_of(VECTOR, norm=norm, length=length).edition for norm in (1, 2) for length in (3, 4)}
    assert len(editions) == 4
    assert metric_of(VECTOR, norm=Toml("1.0")).edition == metric_of(VECTOR).edition
