"""Named wrong mechanisms. A check that accepts one of them checks nothing.

Each channel mutant declares the law of the right channel and perturbs otherwise, or perturbs
rightly and declares otherwise. ``CHANNEL_MUTANTS`` are made from any right channel of at least
three inputs; those that make sense for two are also in ``BINARY_MUTANTS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from client_sdk.protocol import COIN_SCALE, Channel, Coins
from tests.support.laws.declared_law import DeclaredLaw

Perturbation = Callable[[int, int, int, Coins], int]
"""(inputs, keep_numerator, value, coins) → symbol."""


@dataclass(frozen=True)
class Mutant(DeclaredLaw):
    """A channel that declares the law of another one and perturbs in its own way.

    Attributes:
        perturbation: replaces that of the right channel.
        declared_ratio: the declared worst ratio, if it is not the right one.

    """

    perturbation: Perturbation
    declared_ratio: Fraction | None = None

    @property
    def worst_ratio(self) -> Fraction:
        return self.declared_ratio or super().worst_ratio

    def perturb(self, value: int, coins: Coins) -> int:
        keep_numerator = self.integers["keep_numerator"]
        assert isinstance(keep_numerator, int)
        return self.perturbation(self.inputs, keep_numerator, value, coins)


def right_perturbation(inputs: int, keep: int, value: int, coins: Coins) -> int:
    """Perturb rightly: for mutants that are wrong elsewhere, and to show that the harness itself is
    right.
    """
    kept, steps = coins.bernoulli(keep), 1 + coins.below(inputs - 1)
    return value if kept else (value + steps) % inputs


def _keep_and_lie_swapped(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept, steps = coins.bernoulli(keep), 1 + coins.below(inputs - 1)
    return (value + steps) % inputs if kept else value


def _keep_one_percent_too_often(inputs: int, keep: int, value: int, coins: Coins) -> int:
    return right_perturbation(inputs, keep + (COIN_SCALE - keep) // 100, value, coins)


def _keep_one_percent_too_rarely(inputs: int, keep: int, value: int, coins: Coins) -> int:
    return right_perturbation(inputs, keep * 99 // 100, value, coins)


def _keep_one_numerator_too_high(inputs: int, keep: int, value: int, coins: Coins) -> int:
    return right_perturbation(inputs, keep + 1, value, coins)


def _lie_off_by_one(inputs: int, keep: int, value: int, coins: Coins) -> int:
    # 0..k-2: the truth instead of the last value
    kept, steps = coins.bernoulli(keep), coins.below(inputs - 1)
    return value if kept else (value + steps) % inputs


def _truth_in_the_lie_branch(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept, lie = coins.bernoulli(keep), coins.below(inputs)
    return value if kept else lie


def _last_lie_never_reached(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept, steps = coins.bernoulli(keep), 1 + coins.below(inputs - 2)
    return value if kept else (value + steps) % inputs


def _last_symbol_never_reached(inputs: int, keep: int, value: int, coins: Coins) -> int:
    return min(right_perturbation(inputs, keep, value, coins), inputs - 2)


def _lie_is_the_next_value(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept, _ = coins.bernoulli(keep), coins.below(inputs - 1)
    return value if kept else (value + 1) % inputs


def _kept_only_if_two_coins_agree(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept = coins.bernoulli(keep)
    kept = coins.bernoulli(keep) and kept
    steps = 1 + coins.below(inputs - 1)
    return value if kept else (value + steps) % inputs


def _noise_bit_used_twice(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept = coins.bernoulli(keep)
    return value if kept else (value + 1 + kept) % inputs


def _coin_for_lies_only(inputs: int, keep: int, value: int, coins: Coins) -> int:
    return value if coins.bernoulli(keep) else (value + 1 + coins.below(inputs - 1)) % inputs


def _second_coin_for_lies(inputs: int, keep: int, value: int, coins: Coins) -> int:
    kept, steps = coins.bernoulli(keep), 1 + coins.below(inputs - 1)
    if kept:
        return value
    coins.below(2)
    return (value + steps) % inputs


def _extra_coin_for_one_input(inputs: int, keep: int, value: int, coins: Coins) -> int:
    if value == 0:
        coins.below(2)
    return right_perturbation(inputs, keep, value, coins)


def _first_value_is_never_noised(inputs: int, keep: int, value: int, coins: Coins) -> int:
    symbol = right_perturbation(inputs, keep, value, coins)
    return symbol if value else 0


MakeMutant = Callable[[Channel], Channel]


def _perturbs(perturbation: Perturbation) -> MakeMutant:
    return lambda right: Mutant(right, perturbation)


def _declares(share: Fraction) -> MakeMutant:
    return lambda right: Mutant(right, right_perturbation, 1 + (right.worst_ratio - 1) * share)


BINARY_MUTANTS: dict[str, MakeMutant] = {
    "keep and lie swapped": _perturbs(_keep_and_lie_swapped),
    "keep-probability 1% too high": _perturbs(_keep_one_percent_too_often),
    "keep-probability 1% too low": _perturbs(_keep_one_percent_too_rarely),
    "keep numerator one too high": _perturbs(_keep_one_numerator_too_high),
    "lie off by one": _perturbs(_lie_off_by_one),
    "truth included in the lie branch": _perturbs(_truth_in_the_lie_branch),
    "last symbol never reached": _perturbs(_last_symbol_never_reached),
    "kept only if two coins agree": _perturbs(_kept_only_if_two_coins_agree),
    "a coin for lies only": _perturbs(_coin_for_lies_only),
    "a second coin for lies": _perturbs(_second_coin_for_lies),
    "an extra coin for one input": _perturbs(_extra_coin_for_one_input),
    "first value never noised": _perturbs(_first_value_is_never_noised),
    "epsilon declared too low": _declares(Fraction(99, 100)),
    "epsilon declared too high": _declares(Fraction(101, 100)),
}
"""Turns a right channel of any number of inputs into a wrong one."""

CHANNEL_MUTANTS: dict[str, MakeMutant] = {
    **BINARY_MUTANTS,
    "last lie never reached": _perturbs(_last_lie_never_reached),
    "lie always the next value": _perturbs(_lie_is_the_next_value),
    "noise bit used twice": _perturbs(_noise_bit_used_twice),
}
"""Turns a right channel of at least three inputs into a wrong one."""
