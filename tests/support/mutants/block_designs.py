"""Named wrong samplers of block designs; each declares the right law, and the checks must refuse
all of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate

from client_sdk.protocol import COIN_SCALE, Coins
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from tests.support.laws.declared_law import PerturbsOtherwise


def cyclic(  # noqa: C901 one small function a mutant
    right: CyclicDesign,
) -> dict[str, PerturbsOtherwise]:
    """Return wrong cyclic designs beside a right one of at least two base blocks."""
    inputs, size = right.inputs, right.block_size

    def drawn(coins: Coins) -> tuple[int, bool, int, int]:
        index, keep = coins.below(right.base_blocks), coins.bernoulli(right.keep_numerator)
        return index, keep, coins.below(size), coins.below(inputs - size)

    def non_member(index: int, lie: int) -> int:
        return lie + bisect_right([member - rank for rank, member in enumerate(right.base_block(index))], lie)

    def symbol(index: int, value: int, element: int) -> int:
        return index * inputs + (value - element) % inputs

    def as_declared(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index, value, right.base_block(index)[kept] if keep else non_member(index, lie))

    def complement_not_excluded(value: int, coins: Coins) -> int:
        index, keep = coins.below(right.base_blocks), coins.bernoulli(right.keep_numerator)
        kept, anything = coins.below(size), coins.below(inputs)
        return symbol(index, value, right.base_block(index)[kept] if keep else anything)

    def lie_off_by_one(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        gaps = [member - rank for rank, member in enumerate(right.base_block(index))]
        return symbol(index, value, right.base_block(index)[kept] if keep else lie + bisect_left(gaps, lie))

    def shift_reversed(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        element = right.base_block(index)[kept] if keep else non_member(index, lie)
        return index * inputs + (element - value) % inputs

    def truth_always_first(value: int, coins: Coins) -> int:
        index, keep, _, lie = drawn(coins)
        return symbol(index, value, right.base_block(index)[0] if keep else non_member(index, lie))

    def lie_in_the_first_block(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index, value, right.base_block(index)[kept] if keep else non_member(0, lie))

    def last_block_never(value: int, coins: Coins) -> int:
        index, keep = coins.below(right.base_blocks - 1), coins.bernoulli(right.keep_numerator)
        kept, lie = coins.below(size), coins.below(inputs - size)
        return symbol(index, value, right.base_block(index)[kept] if keep else non_member(index, lie))

    def coin_for_lies_only(value: int, coins: Coins) -> int:
        index = coins.below(right.base_blocks)
        if coins.bernoulli(right.keep_numerator):
            return symbol(index, value, right.base_block(index)[coins.below(size)])
        coins.below(1)
        return symbol(index, value, non_member(index, coins.below(inputs - size)))

    def keep_and_lie_swapped(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index, value, non_member(index, lie) if keep else right.base_block(index)[kept])

    def one_draw_for_both(value: int, coins: Coins) -> int:
        index, keep, kept, _ = drawn(coins)
        return symbol(index, value, right.base_block(index)[kept] if keep else non_member(index, min(kept, 1)))

    return {
        "none": PerturbsOtherwise(right, as_declared),
        "complement not excluded": PerturbsOtherwise(right, complement_not_excluded),
        "lie off by one": PerturbsOtherwise(right, lie_off_by_one),
        "shift reversed": PerturbsOtherwise(right, shift_reversed),
        "truth always first in the block": PerturbsOtherwise(right, truth_always_first),
        "lie taken from the first block": PerturbsOtherwise(right, lie_in_the_first_block),
        "last block never reported": PerturbsOtherwise(right, last_block_never),
        "a coin for lies only": PerturbsOtherwise(right, coin_for_lies_only),
        "keep and lie swapped": PerturbsOtherwise(right, keep_and_lie_swapped),
        "one draw for kept and lie": PerturbsOtherwise(right, one_draw_for_both),
    }


def balanced(right: BalancedDesign) -> dict[str, PerturbsOtherwise]:
    """Return wrong balanced designs beside a right one with several base blocks."""
    points, size = right.points, right.block_size
    factors, total = right.base_blocks // len(right.starters), sum(right.weights)
    ends = list(accumulate(right.weights))

    def drawn(coins: Coins) -> tuple[int, bool, int, int]:
        factor, weight = divmod(coins.below(total * factors), total)
        index = bisect_right(ends, weight) * factors + factor
        return index, coins.bernoulli(right.keep_numerator), coins.below(size), coins.below(points - size)

    def symbol(index: int, value: int, member: int | None, lie: int = 0) -> int:
        block = right.base_block(index)
        others = [each for each in range(points) if each not in block]
        return index * points + (value - (others[lie] if member is None else block[member])) % points

    def as_declared(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index, value, kept if keep else None, lie)

    def complement_not_excluded(value: int, coins: Coins) -> int:
        index, keep, kept, _ = drawn(coins)
        return symbol(index, value, kept) if keep else index * points + coins.below(points)

    def starters_alike(value: int, coins: Coins) -> int:
        index, keep = coins.below(right.base_blocks), coins.bernoulli(right.keep_numerator)
        kept, lie = coins.below(size), coins.below(points - size)
        return symbol(index, value, kept if keep else None, lie)

    def last_multiplier_never(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index - (index % factors == factors - 1 and index > 0), value, kept if keep else None, lie)

    def lies_in_the_first_block(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index, value, kept) if keep else symbol(0, value, None, lie)

    def keep_and_lie_swapped(value: int, coins: Coins) -> int:
        index, keep, kept, lie = drawn(coins)
        return symbol(index, value, None if keep else kept, lie)

    return {
        "none": PerturbsOtherwise(right, as_declared),
        "complement not excluded": PerturbsOtherwise(right, complement_not_excluded),
        "last multiplier never": PerturbsOtherwise(right, last_multiplier_never),
        "lies in the first block": PerturbsOtherwise(right, lies_in_the_first_block),
        "keep and lie swapped": PerturbsOtherwise(right, keep_and_lie_swapped),
    } | ({"starters alike": PerturbsOtherwise(right, starters_alike)} if len(set(right.weights)) > 1 else {})


def projective(right: ProjectiveGeometry) -> dict[str, PerturbsOtherwise]:
    """Return wrong geometries beside a right one."""
    chance = Fraction(right.keep_numerator, COIN_SCALE) / right.orthogonal
    orthogonal = [
        [symbol for symbol in range(right.symbols) if right.probability(symbol, value) == chance]
        for value in range(right.inputs)
    ]
    others = [[symbol for symbol in range(right.symbols) if symbol not in plane] for plane in orthogonal]

    def drawn(coins: Coins) -> tuple[bool, int, int]:
        keep = coins.bernoulli(right.keep_numerator)
        return keep, coins.below(right.orthogonal), coins.below(right.symbols - right.orthogonal)

    def as_declared(value: int, coins: Coins) -> int:
        keep, kept, lie = drawn(coins)
        return orthogonal[value][kept] if keep else others[value][lie]

    def complement_not_excluded(value: int, coins: Coins) -> int:
        keep = coins.bernoulli(right.keep_numerator)
        kept, anything = coins.below(right.orthogonal), coins.below(right.symbols)
        return orthogonal[value][kept] if keep else anything

    def first_value_never_noised(value: int, coins: Coins) -> int:
        keep, kept, lie = drawn(coins)
        return orthogonal[value][kept] if keep or value == 0 else others[value][lie]

    def last_kept_never(value: int, coins: Coins) -> int:
        keep, _, lie = drawn(coins)
        return orthogonal[value][0] if keep else others[value][lie]

    def values_by_another_point(value: int, coins: Coins) -> int:
        return as_declared((value + 1) % right.inputs, coins)

    def coin_for_lies_only(value: int, coins: Coins) -> int:
        if coins.bernoulli(right.keep_numerator):
            return orthogonal[value][coins.below(right.orthogonal)]
        coins.below(1)
        return others[value][coins.below(right.symbols - right.orthogonal)]

    return {
        "none": PerturbsOtherwise(right, as_declared),
        "complement not excluded": PerturbsOtherwise(right, complement_not_excluded),
        "first value never noised": PerturbsOtherwise(right, first_value_never_noised),
        "only one kept point": PerturbsOtherwise(right, last_kept_never),
        "values by another point": PerturbsOtherwise(right, values_by_another_point),
        "a coin for lies only": PerturbsOtherwise(right, coin_for_lies_only),
    }
