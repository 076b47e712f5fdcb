"""Permanent answers for tests: metrics that have them, and an ideal random function in the place of the PRF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from client_sdk import prf
from client_sdk.agenda import Agenda
from client_sdk.ledger_file import open_memory
from client_sdk.permanent import Secret, permanent_answer
from client_sdk.results import Recorded
from client_sdk.spec import Coins, Metric, Registry, Window
from client_sdk.spec.mechanisms.permanent import Permanent
from tests.support.clients import DAY_S, NOON, ask
from tests.support.coins import exact_law

SECRET = Secret(bytes(range(32)), 1)

VALUES = "abcdefghijklmnopqrstuvwxyz"

Law = dict[tuple[int, ...], Fraction]
"""The joint law of a device's reports."""


def asking(values: int, *, epsilon: str = "1", permanent: str = "2", more: str = 'protects = "history"') -> Registry:
    """Return a registry whose one metric ``m`` has permanent answers among so many values."""
    kind = 'kind = "boolean"' if values == 2 else f'kind = "category"\nvalues = {list(VALUES[:values])}'
    return ask(f"[metric.m]\n{kind}\nepsilon = {epsilon}\npermanent_epsilon = {permanent}\n{more}")


def answer_of(metric: Metric, value: int) -> object:
    """Return the answer that an input symbol stands for."""
    return metric.domain.labels[value]


def channel_of(metric: Metric) -> Permanent:
    """Return a metric's channel, which has permanent answers."""
    assert isinstance(metric.channel, Permanent)
    return metric.channel


class RandomFunction:
    """What a PRF looks like to those who do not know the secret: fresh coins for each label, the same for ever."""

    def __init__(self, coins: Coins) -> None:
        self._coins = coins
        self._known: dict[tuple[Any, ...], bool | int] = {}

    def __call__(self, _: bytes, *labels: str) -> _Labelled:
        """Return the coins of some labels."""
        return _Labelled(self, labels)

    def once(self, key: tuple[Any, ...], toss: Callable[[Coins], bool | int]) -> bool | int:
        """Return how a coin falls, tossed when it is first asked for."""
        if key not in self._known:
            self._known[key] = toss(self._coins)
        return self._known[key]


class _Labelled:
    def __init__(self, function: RandomFunction, labels: tuple[str, ...]) -> None:
        self._function, self._labels, self._tossed = function, labels, 0

    def bernoulli(self, numerator: int) -> bool:
        return bool(self._toss(lambda coins: coins.bernoulli(numerator)))

    def below(self, bound: int) -> int:
        return int(self._toss(lambda coins: coins.below(bound)))

    def _toss(self, toss: Callable[[Coins], bool | int]) -> bool | int:
        self._tossed += 1
        return self._function.once((self._labels, self._tossed), toss)


def reports_of(
    metric: Metric, history: Sequence[object], coins: Coins, function: Callable[[Coins], object] = RandomFunction
) -> tuple[int, ...]:
    """Return the reports of a device that answers so, made of permanent answers as the SDK makes them."""
    channel = channel_of(metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prf, "PrfCoins", function(coins))
        answers = [permanent_answer(metric, channel, answer, SECRET) for answer in history]
        return tuple(channel.instantaneous.perturb(answer.symbol, coins) for answer in answers)


def law_of_reports(metric: Metric, history: Sequence[int]) -> Law:
    """Return the exact joint law of the reports of a history, one a window."""
    return exact_law(partial(reports_of, metric, [answer_of(metric, value) for value in history]))


def reports_through_the_ledger(registry: Registry, history: Sequence[int], coins: Coins) -> tuple[int, ...]:
    """Return the reports of a device, one a day, made, charged and queued by the SDK; those of silent days lack."""
    metric = registry.metric("m")
    with pytest.MonkeyPatch.context() as patch, closing(open_memory("acme")) as connection:
        patch.setattr(prf, "PrfCoins", RandomFunction(coins))
        agenda = Agenda(registry, coins)
        for day, value in enumerate(history):
            instant_s = agenda.begin(connection, NOON + day * DAY_S)
            made = agenda.made(connection, metric, answer_of(metric, value))
            window = Window.of(metric.window, instant_s)
            assert agenda.report(connection, metric, made, window, instant_s) in (
                Recorded.QUEUED,
                Recorded.OUT_OF_BUDGET,
            )
        return tuple(symbol for (symbol,) in connection.execute("SELECT symbol FROM queue ORDER BY id"))


def worst_ratio(law: Law, other: Law) -> Fraction:
    """Return the largest ratio of what one law gives to what the other gives."""
    assert law.keys() == other.keys()
    return max(law[reports] / other[reports] for reports in law)


def pattern(history: Sequence[int]) -> tuple[int, ...]:
    """Return when a history takes which value again: the first place of each of its values."""
    return tuple(history.index(value) for value in history)
