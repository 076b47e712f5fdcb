"""The nearest prototype: its exact rule, and answers that are none."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import OutsideDomainError, Registry
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.nearest import GRID, MOST_COORDINATE, Nearest, Point, point_of
from tests.support.core.tables import for_each
from tests.support.devices.definitions import NEAREST, Toml, metric_of, mistakes, registry_text
from tests.support.laws.coins import ScriptedCoins

COORDINATES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-MOST_COORDINATE, MOST_COORDINATE),
    st.sampled_from([0.5, 0.5 + 1 / GRID, 1 / GRID, 1.5 / GRID, 2.5 / GRID, -0.5 / GRID, 5e-324, -0.0]),
)
MARK = 0.31415926
"""A number whose digits must occur in no error."""


def domain_of(*vectors: Sequence[float]) -> Nearest:
    return Nearest(tuple(f"v{number}" for number in range(len(vectors))), tuple(map(point_of, vectors)))


def encoded(domain: Nearest, answer: object) -> int:
    return domain.encode(answer, domain.size, ScriptedCoins([]))


def in_steps(number: float) -> int:
    """Return the nearest multiple of the grid, half to even, by exact fractions."""
    return round(Fraction(number) * GRID)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 3))
def test_the_least_exact_squared_distance_decides_and_the_first_of_several(data: st.DataObject, length: int) -> None:
    vectors = data.draw(st.lists(st.tuples(*[COORDINATES] * length), min_size=2, max_size=5))
    answer = data.draw(st.tuples(*[COORDINATES] * length))
    points = [tuple(map(in_steps, vector)) for vector in vectors]
    at = tuple(map(in_steps, answer))
    distances = [sum((a - b) ** 2 for a, b in zip(point, at, strict=True)) for point in points]
    domain = domain_of(*vectors)
    assert domain.points == tuple(points)
    assert encoded(domain, answer) == encoded(domain, list(answer)) == min(enumerate(distances), key=itemgetter(1))[0]
    assert encoded(domain, np.array(answer)) == encoded(domain, answer)


FAR = MOST_COORDINATE * GRID


@for_each(
    "points, at",
    [
        *(([(0, 0), (4, 0)], (2, 0)), ([(2, 0), (40, 0)], (3, 0)), ([(5 * GRID, 0), (3 * GRID, 3 * GRID)], (0, 0))),
        ([(FAR, 1), (FAR, 0)], (-FAR, 0)),
    ],
)
def test_a_tie_a_larger_product_city_blocks_and_floats_do_not_decide(points: list[Point], at: Point) -> None:
    distances = [sum((a - b) ** 2 for a, b in zip(point, at, strict=True)) for point in points]
    domain = Nearest(("first", "second"), tuple(points))
    assert encoded(domain, [steps / GRID for steps in at]) == distances.index(min(distances))


def test_a_label_is_an_answer_too() -> None:
    domain = domain_of((0.0,), (1.0,))
    assert [encoded(domain, label) for label in domain.labels] == [0, 1]


@for_each(
    "answer",
    [
        *([], [MARK], [MARK] * 3, [MARK, float("nan")], [MARK, float("inf")], [MARK, -1e6 - 1], [MARK, 10**400]),
        *([MARK, True], [MARK, "1"], [MARK, None], [MARK, 1j], [[MARK], [MARK]], {MARK: 1, 2.0: 1}, {MARK, 2.0}),
        *(MARK, None, "no label", b"ab", iter([MARK, 1.0]), np.ones((2, 2)), np.array([True, False]), object()),
    ],
)
def test_what_is_no_vector_of_the_right_length_is_refused_and_not_shown(answer: object) -> None:
    metric = metric_of(NEAREST)
    with pytest.raises(OutsideDomainError, match="a list of 2 numbers") as caught:
        metric.encode(answer, ScriptedCoins([]))
    shown = "".join(traceback.format_exception(caught.value))
    assert "31415926" not in shown
    assert "1e6" not in shown


def test_numbers_of_other_types_are_numbers() -> None:
    domain = domain_of((0.0, 0.0), (1.0, 1.0))
    for answer in ((Fraction(2, 3), 1), (1, 2**15), (np.float32(0.75), np.int64(1)), [Fraction(1), 1.0]):
        assert encoded(domain, answer) == 1
    with pytest.raises(DomainError):
        encoded(domain, (Decimal(1), Decimal(1)))  # registers as no real number


def test_the_edition_holds_every_number_and_the_order() -> None:
    def edition(prototypes: str) -> str:
        return metric_of(NEAREST, prototypes=Toml(prototypes)).edition

    first = edition('{ a = "1 2", b = "3 4" }')
    assert first == edition('{ a = "1.00000000001  +2e0", b = "3 4" }')
    others = (
        '{ a = "1 2", b = "3 5" }',
        '{ b = "3 4", a = "1 2" }',
        '{ a = "3 4", b = "1 2" }',
        '{ a = "1 2", c = "3 4" }',
    )
    assert len({first, *map(edition, others)}) == 5


@pytest.mark.slow
def test_prototypes_are_few_enough_to_be_searched_in_time() -> None:
    def prototypes(number: int, length: int) -> Toml:
        rows = (f'"{label}" = "{label}{" 0" * (length - 1)}"' for label in range(number))
        return Toml(f"{{ {', '.join(rows)} }}")

    assert metric_of(NEAREST, prototypes=prototypes(1024, 64)).kind.size == 1024
    for number, length in ((1025, 1), (1024, 65), (2, 40000)):
        assert list(mistakes(m=NEAREST | {"prototypes": prototypes(number, length)})) == ["metric.m.prototypes"]


def test_a_mistake_names_the_label_and_what_a_vector_looks_like() -> None:
    said = mistakes(m=NEAREST | {"prototypes": Toml('{ a = "1 2", "the second" = "1 x" }')})["metric.m.prototypes"]
    assert said == """'the second' must be a string of numbers from -1,000,000 to 1,000,000, such as "0.12 -3 7.5\""""


def test_it_can_be_crossed_and_filled_in() -> None:
    cross = registry_text(topic=NEAREST, flag={"purpose": "Why?", "kind": "boolean", "epsilon": 1})
    cross += '[metric.both]\npurpose = "Why?"\ncross = ["topic", "flag"]\nepsilon = 1\n'
    both = Registry.parse(cross).metric("both")
    assert both.encode(([1, 0.5], True), ScriptedCoins([])) == both.encode(("right", True), ScriptedCoins([])) == 3
    filled = metric_of(NEAREST, fill_in=True)
    assert [filled.encode(answer, ScriptedCoins([])) for answer in (None, [-1, 2])] == [3, 2]
