"""An answer before the channel: rounded, or a member drawn, by the law of the device."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol.kinds.kind import NO_COINS
from estimator.analyses.answers import rounding
from estimator.rehearsal.population import TrueAnswer, read_answer
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, NUMBER, metric_of
from tests.support.estimates.draws import exact_law_of_rows
from tests.support.laws.coins import exact_law

STARTUP = metric_of(NUMBER, low=-1, high=5, mechanism="one-bit")


@for_each("cell", ["-1", "-.5", "0", "2.25", "4.999", "5"])
def test_an_answer_is_rounded_by_the_law_of_the_device(cell: str) -> None:
    answer = read_answer(STARTUP, cell)
    law = exact_law(lambda coins: STARTUP.kind.encode(answer.value, STARTUP.channel.inputs, coins))
    assert dict(answer.law) == {point: float(chance) for point, chance in law.items()}


def test_a_cell_that_states_no_answer_is_not_taken_for_silence() -> None:
    filled = metric_of(BOOLEAN | {"fill_in": True})
    assert read_answer(filled, "yes").value is True
    for cell in ("maybe", "", "None", "nothing recorded"):
        with pytest.raises(ValueError, match="must be true or false, yes or no, 1 or 0"):
            read_answer(filled, cell)


def test_devices_of_one_answer_are_rounded_each_by_its_own_coin() -> None:
    answers: dict[TrueAnswer, int] = {read_answer(STARTUP, cell): count for cell, count in (("0.5", 2), ("5", 1))}
    round_each = rounding([answer.law for answer in answers], STARTUP.channel.inputs)
    at_hand = np.array([2, 1], dtype=np.int64)
    law = exact_law_of_rows(lambda generator: round_each(at_hand, generator))
    quarter = Fraction(1, 4)
    assert law == {(2, 1): (1 - quarter) ** 2, (1, 2): 2 * quarter * (1 - quarter), (0, 3): quarter**2}


SETS = metric_of({"purpose": "Why?", "kind": "set", "values": ["a", "b", "c"], "max_items": 2, "epsilon": 1})


@pytest.mark.parametrize("cell", ["|", "b", "a|c", "c | a"])
def test_a_member_of_a_set_is_drawn_by_the_law_of_the_device(cell: str) -> None:
    answer = read_answer(SETS, cell)
    padded = SETS.kind.encode(answer.value, SETS.channel.inputs, NO_COINS)
    law = exact_law(lambda coins: padded[coins.below(len(padded))])
    assert {point: chance for point, chance in answer.law if chance} == {
        point: float(chance) for point, chance in law.items()
    }


def test_devices_of_sets_of_different_sizes_draw_each_its_own_member() -> None:
    """Laws of unequal length: the shorter ones are filled up with probability 0."""
    answers: dict[TrueAnswer, int] = {read_answer(SETS, cell): 1 for cell in ("|", "b", "a|c")}
    round_each = rounding([answer.law for answer in answers], SETS.channel.inputs)
    law = exact_law_of_rows(lambda generator: round_each(np.ones(3, dtype=np.int64), generator))
    expected: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for of_devices in product((3, 4), (1, 4), (0, 2)):
        expected[tuple(of_devices.count(given) for given in range(5))] += Fraction(1, 8)
    assert law == expected
