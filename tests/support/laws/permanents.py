"""Permanent answers for tests: metrics that have them, and an ideal random function in the place of
the PRF.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from client_sdk.answers import prf_coins as prf
from client_sdk.answers.randomized import permanent_answer
from client_sdk.ledger.device import Secret
from client_sdk.protocol import COIN_SCALE, Coins, Metric, Registry
from client_sdk.protocol.mechanisms import permanent
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.devices.clients import ask
from tests.support.laws.coins import exact_law

SECRET = Secret(bytes(range(32)), 1)

VALUES = "abcdefghijklmnopqrstuvwxyz"

Law = dict[tuple[int, ...], Fraction]
"""The joint law of a device's reports."""


def asking(values: int, *, epsilon: str = "1", permanent: str = "2") -> Registry:
    """Return a registry whose one metric ``m`` has permanent answers among a number of values."""
    kind = 'kind = "boolean"' if values == 2 else f'kind = "category"\nvalues = {list(VALUES[:values])}'
    return ask(f"[metric.m]\n{kind}\nepsilon = {epsilon}\npermanent_epsilon = {permanent}")


def answer_of(metric: Metric, value: int) -> object:
    """Return the answer that an input symbol stands for."""
    return metric.labels[value]


def channel_of(metric: Metric) -> Permanent:
    """Return a metric's channel, which has permanent answers."""
    assert isinstance(metric.channel, Permanent)
    return metric.channel


class RandomFunction:
    """How a PRF looks without the secret: fresh coins for each secret and label, and the same ones
    ever after.
    """

    def __init__(self, coins: Coins) -> None:
        self._coins = coins
        self._known: dict[tuple[Any, ...], bool | int] = {}

    def __call__(self, secret: bytes, *labels: str) -> Coins:
        """Return the coins of a secret and some labels."""
        return _Labeled(self, (secret, *labels))

    def once(self, key: tuple[Any, ...], toss: Callable[[Coins], bool | int]) -> bool | int:
        """Return the outcome of a coin that is tossed when it is first requested."""
        if key not in self._known:
            self._known[key] = toss(self._coins)
        return self._known[key]


class _Labeled:
    def __init__(self, function: RandomFunction, labels: tuple[bytes | str, ...]) -> None:
        self._function, self._labels, self._tossed = function, labels, 0

    def bernoulli(self, numerator: int) -> bool:
        return bool(self._toss(lambda coins: coins.bernoulli(numerator)))

    def below(self, bound: int) -> int:
        return int(self._toss(lambda coins: coins.below(bound)))

    def _toss(self, toss: Callable[[Coins], bool | int]) -> bool | int:
        self._tossed += 1
        return self._function.once((self._labels, self._tossed), toss)


OFFSETS = 16
"""Places at which an offset of `GridOffsets` may lie."""


class GridOffsets(RandomFunction):
    """The same for offsets of numbers: one draw decides which numbers are below it, as one word of
    the PRF does.
    """

    def __call__(self, secret: bytes, *labels: str) -> Coins:
        """Return the coins of a secret and some labels."""
        return _Offset(self, secret) if labels[0] == permanent.OFFSET else super().__call__(secret, *labels)


class _Offset:
    def __init__(self, function: RandomFunction, secret: bytes) -> None:
        self._function, self._secret = function, secret

    def bernoulli(self, numerator: int) -> bool:
        """Compare with the offset; exact for numerators that are multiples of the grid's step."""
        assert numerator * OFFSETS % COIN_SCALE == 0, "this number lies between two offsets of the grid"
        offset = int(self._function.once((self._secret, permanent.OFFSET), lambda coins: coins.below(OFFSETS)))
        is_below: bool = offset * COIN_SCALE < numerator * OFFSETS
        return is_below

    def below(self, bound: int) -> int:
        raise AssertionError(f"an offset is compared, not drawn below {bound}")


def reports_of(
    metric: Metric, history: Sequence[object], coins: Coins, function: Callable[[Coins], object] = RandomFunction
) -> tuple[int, ...]:
    """Return the reports of a device with given answers, which the SDK's code randomizes from
    permanent answers.
    """
    channel = channel_of(metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prf, "PrfCoins", function(coins))
        answers = [permanent_answer(metric, channel, partial(metric.encode, answer), SECRET) for answer in history]
        return tuple(channel.instantaneous.perturb(answer.symbol, coins) for answer in answers)


def law_of_reports(metric: Metric, history: Sequence[int]) -> Law:
    """Return the exact joint law of the reports of a history, one a window."""
    return exact_law(partial(reports_of, metric, [answer_of(metric, value) for value in history]))


def worst_ratio(*laws: Law) -> Fraction:
    """Return the largest ratio of a probability under any of the laws to that under any other."""
    reported = laws[0].keys()
    assert all(law.keys() == reported for law in laws)
    columns = ([law[reports] for law in laws] for reports in reported)
    return max(max(column) / min(column) for column in columns)
