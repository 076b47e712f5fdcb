"""The enumeration that the exact tests rest on, checked on procedures that can be counted by
hand.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from client_sdk.protocol import COIN_SCALE, Coins
from tests.support.core.tables import for_each
from tests.support.laws.coins import ScriptedCoins, exact_law, walk

QUARTER = COIN_SCALE // 4


def two_dice(coins: Coins) -> int:
    return coins.below(6) + coins.below(6)


def heads_before_tails(coins: Coins) -> int:
    return next((toss for toss in range(3) if not coins.bernoulli(QUARTER)), 3)


def test_the_law_of_two_dice_is_counted() -> None:
    assert exact_law(two_dice) == {total: Fraction(6 - abs(5 - total), 36) for total in range(11)}
    assert walk(two_dice).paths == 36


def test_paths_of_different_length_are_all_walked_and_their_coins_counted() -> None:
    law = walk(heads_before_tails)
    assert law.coins == {0: {1}, 1: {2}, 2: {3}, 3: {3}}
    assert law.lengths == {1, 2, 3}
    assert law.chances == {heads: Fraction(3, 4 ** (heads + 1)) if heads < 3 else Fraction(1, 64) for heads in range(4)}


@pytest.mark.parametrize(("numerator", "certain"), [(0, False), (COIN_SCALE, True)])
def test_a_path_of_weight_zero_is_not_walked(numerator: int, certain: bool) -> None:  # noqa: FBT001 a parameter
    assert walk(lambda coins: coins.bernoulli(numerator)) == ({certain: Fraction(1)}, {certain: {1}}, 1)


def test_a_procedure_without_coins_has_one_path() -> None:
    assert walk(lambda _: 7) == ({7: Fraction(1)}, {7: {0}}, 1)


def test_a_procedure_that_behaves_differently_with_the_same_coins_is_refused() -> None:
    bounds = iter(range(2, 9))
    with pytest.raises(AssertionError, match="differently"):
        walk(lambda coins: coins.below(next(bounds)))


@for_each("script", [[], [3], [3, 4, 5], [True, 4], [3, 6], [3, -1]])
def test_a_script_that_does_not_fit_what_is_asked_is_refused(script: list[bool | int]) -> None:
    with pytest.raises(AssertionError), ScriptedCoins(script) as coins:
        two_dice(coins)


def test_a_script_with_an_outcome_of_probability_zero_is_refused() -> None:
    with pytest.raises(AssertionError, match="probability 0"):
        ScriptedCoins([True]).bernoulli(0)
    with pytest.raises(AssertionError, match="probability 0"):
        ScriptedCoins([False]).bernoulli(COIN_SCALE)
    with pytest.raises(AssertionError, match="where a bernoulli coin is asked"):
        ScriptedCoins([1]).bernoulli(QUARTER)
