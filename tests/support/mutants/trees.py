"""Named wrong trees; each declares the right law, and the checks must refuse all of them."""

from __future__ import annotations

from client_sdk.protocol import Coins
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from tests.support.laws.declared_law import PerturbsOtherwise


def hierarchical(  # noqa: C901 one small function a mutant
    right: Hierarchical,
) -> dict[str, PerturbsOtherwise]:
    """Return wrong trees beside a right one of at least three levels."""
    levels, last = right.levels, right.inputs - 1

    def on(place: int, value: int, coins: Coins) -> int:
        level = levels[place]
        return level.first + level.channel.perturb(value // level.span, coins)

    def as_declared(value: int, coins: Coins) -> int:
        return on(coins.below(len(levels)), value, coins)

    def level_by_the_answer(value: int, coins: Coins) -> int:
        drawn = coins.below(len(levels))
        return on(0 if value == last else drawn, value, coins)

    def last_level_never(value: int, coins: Coins) -> int:
        return on(coins.below(len(levels) - 1), value, coins)

    def first_level_too_often(value: int, coins: Coins) -> int:
        return on(max(0, coins.below(len(levels) + 1) - 1), value, coins)

    def last_level_never_noised(value: int, coins: Coins) -> int:
        place = coins.below(len(levels))
        symbol = on(place, value, coins)
        return levels[-1].first + value if place == len(levels) - 1 else symbol

    def node_off_by_one(value: int, coins: Coins) -> int:
        return as_declared(min(value + 1, last), coins)

    def node_of_the_level_below(value: int, coins: Coins) -> int:
        place = coins.below(len(levels))
        level, below = levels[place], levels[min(place + 1, len(levels) - 1)]
        return level.first + level.channel.perturb(value // below.span % level.channel.inputs, coins)

    def symbols_of_the_first_level(value: int, coins: Coins) -> int:
        level = levels[coins.below(len(levels))]
        return level.channel.perturb(value // level.span, coins)

    def extra_coin_for_one_input(value: int, coins: Coins) -> int:
        if value == 0:
            coins.below(2)
        return as_declared(value, coins)

    def extra_coin_on_a_lower_half(value: int, coins: Coins) -> int:
        place = coins.below(len(levels))
        symbol = on(place, value, coins)
        if place and value <= last // 2:
            coins.below(2)
        return symbol

    return {
        "none": PerturbsOtherwise(right, as_declared),
        "the answer decides the level": PerturbsOtherwise(right, level_by_the_answer),
        "last level never drawn": PerturbsOtherwise(right, last_level_never),
        "first level drawn too often": PerturbsOtherwise(right, first_level_too_often),
        "last level never noised": PerturbsOtherwise(right, last_level_never_noised),
        "node off by one": PerturbsOtherwise(right, node_off_by_one),
        "node of the level below": PerturbsOtherwise(right, node_of_the_level_below),
        "every level's symbols at the first level's place": PerturbsOtherwise(right, symbols_of_the_first_level),
        "an extra coin for one input": PerturbsOtherwise(right, extra_coin_for_one_input),
        "an extra coin in the lower half": PerturbsOtherwise(right, extra_coin_on_a_lower_half),
    }
