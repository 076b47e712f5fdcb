"""Named wrong coins of permanent answers that replace the PRF. The reports of most reveal more than
is declared.
"""

from __future__ import annotations

from collections.abc import Callable

from client_sdk.protocol import Coins
from client_sdk.protocol.mechanisms import permanent
from tests.support.laws.permanents import RandomFunction

Function = Callable[..., Coins]
"""(secret, *labels) → coins, as `client_sdk.answers.prf_coins.PrfCoins`."""

MakeFunction = Callable[[Coins], Function]
"""Turns the fresh coins of a device into those of its permanent answers."""


def _drawn_anew(coins: Coins) -> Function:
    return lambda _, *__: coins


def _offset_drawn_anew(coins: Coins) -> Function:
    right = RandomFunction(coins)
    return lambda secret, *labels: coins if labels[0] == permanent.OFFSET else right(secret, *labels)


def _same_for_all_answers(coins: Coins) -> Function:
    right = RandomFunction(coins)
    return lambda secret, *labels: right(secret, *labels[:3])


def _never_lies(coins: Coins) -> Function:
    return lambda _, *labels: coins if labels[0] == permanent.OFFSET else _Kept()


class _Kept:
    def bernoulli(self, _: int) -> bool:
        return True

    def below(self, _: int) -> int:
        return 0


PERMANENT_MUTANTS: dict[str, MakeFunction] = {
    "a permanent answer drawn anew": _drawn_anew,
    "a rounding offset drawn anew": _offset_drawn_anew,
    "the same coins for all answers": _same_for_all_answers,
    "a permanent answer that never lies": _never_lies,
}
"""Wrong ways to toss the coins of permanent answers."""
