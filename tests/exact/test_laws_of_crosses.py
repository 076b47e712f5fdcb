"""The law of crosses and of one-of: every path of coins, the exact epsilon between whole inputs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol import COIN_SCALE, Coins
from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.mechanisms.one_of import OneOf
from estimator.decoders import one_of
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CROSSED_MODEL, metric_of
from tests.support.laws.bands import request
from tests.support.laws.coins import Law, ScriptedCoins, exact_law, walk

CELLS = [(4,), (4, 6), (2, 3, 4)]
SMALL = [Crosses.within(request(epsilon), cells) for epsilon, cells in product(("0.5", "4"), CELLS)]
SMALL.append(Crosses.within(request("0.5"), (13, 4)))
"""The last one reports by a cyclic design where a symbol stands for several of 13 cells."""


def whole_inputs(channel: Crosses) -> list[tuple[int, ...]]:
    return list(product(*map(range, channel.cells)))


@cache
def walked(channel: Crosses, given: tuple[int, ...]) -> Law[int]:
    return walk(partial(channel.perturb, given))


def laws_of(channel: Crosses) -> list[dict[int, Fraction]]:
    return [walked(channel, given).chances for given in whole_inputs(channel)]


def worst(laws: list[dict[int, Fraction]]) -> Fraction:
    """Return how many times likelier a symbol is for one input than for another, at most.

    A symbol that an input never gives counts as one of a chance of 10**-9.
    """
    by_symbol = [[law.get(symbol, Fraction(1, 10**9)) for law in laws] for symbol in set().union(*laws)]
    return max(max(chances) / min(chances) for chances in by_symbol)


def declared(channel: Crosses) -> list[dict[int, Fraction]]:
    """Each feature has an equal chance and its own channel; symbols stand one after the other."""
    laws = []
    for given in whole_inputs(channel):
        law, first = {}, 0
        for own, cell in zip(channel.features, given, strict=True):
            for symbol in range(own.symbols):
                law[first + symbol] = own.probability(symbol, cell) / len(given)
            first += own.symbols
        laws.append(law)
    return laws


@pytest.mark.long
@for_each("channel", SMALL)
def test_every_path_obeys_the_declared_law_and_whole_inputs_differ_by_exactly_e_to_epsilon(channel: Crosses) -> None:
    laws = laws_of(channel)
    assert laws == declared(channel)
    inputs, symbols = whole_inputs(channel), range(channel.symbols)
    assert laws == [{symbol: channel.probability(symbol, given) for symbol in symbols} for given in inputs]
    assert [sum(law.values()) for law in laws] == [1] * len(laws)
    assert worst(laws) == channel.worst_ratio


@for_each("channel", SMALL)
def test_the_feature_and_the_number_of_coins_do_not_depend_on_the_input(channel: Crosses) -> None:
    coin_counts: list[set[frozenset[int]]] = [set() for _ in channel.features]
    for given in whole_inputs(channel):
        law = walked(channel, given)
        for feature, numbers in enumerate(coin_counts):
            mine = {symbol for symbol in law.coins if channel.feature_of(symbol)[0] == feature}
            assert sum(law.chances[symbol] for symbol in mine) == Fraction(1, channel.inputs)
            numbers.add(frozenset().union(*(law.coins[symbol] for symbol in mine)))
    assert all(len(numbers) == 1 for numbers in coin_counts)


def test_a_metric_draws_the_feature_after_the_whole_answer_is_known() -> None:
    metric = metric_of(CROSSED_MODEL)
    answer = {"age": 63, "sex": "f", "health": "poor", "label": True}
    assert isinstance(metric.channel, Crosses)
    for feature, cell in enumerate((7, 1, 5)):
        own = metric.channel.features[feature]
        keep = own.keep_numerator
        with ScriptedCoins([feature, True, 0]) as coins:
            assert metric.perturb(answer, coins) == metric.channel.firsts[feature] + cell
        assert coins.requests[:2] == [("below", 3), ("bernoulli", keep)]


class ByValue(Crosses):
    """Draws outside the channel: the feature whose cell is largest."""

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        feature = max(range(self.inputs), key=value.__getitem__)
        return self.firsts[feature] + self.features[feature].perturb(value[feature], coins)


class FirstOnly(Crosses):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        coins.below(self.inputs)
        return self.features[0].perturb(value[0], coins)


class TruthInTheClear(Crosses):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        feature = coins.below(self.inputs)
        return self.firsts[feature] + value[feature]


class Shifted(Crosses):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        feature = coins.below(self.inputs)
        return self.features[feature].perturb(value[feature], coins)


@pytest.mark.parametrize("wrong", [ByValue, FirstOnly, TruthInTheClear, Shifted])
def test_a_wrong_mechanism_is_refused(wrong: type[Crosses]) -> None:
    mutant = wrong.within(request("1"), (4, 6))
    assert laws_of(mutant) != declared(mutant)


@pytest.mark.parametrize("wrong", [ByValue, TruthInTheClear])
def test_what_looks_at_the_values_outside_has_no_epsilon(wrong: type[Crosses]) -> None:
    mutant = wrong.within(request("1"), (4, 6))
    assert worst(laws_of(mutant)) > mutant.worst_ratio


def test_no_numerator_is_certain() -> None:
    assert all(0 < keep < COIN_SCALE for channel in SMALL for keep in channel.keep_numerators)


@pytest.mark.parametrize("metrics", [1, 2, 4])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_one_of_several_metrics_has_the_law_of_crosses_of_two_cells_each(epsilon: str, metrics: int) -> None:
    channel, crosses = OneOf.within(request(epsilon), metrics), Crosses.within(request(epsilon), (2,) * metrics)
    for given in whole_inputs(crosses):
        law, symbols = walk(partial(channel.perturb, given)), range(channel.symbols)
        assert law.chances == {symbol: channel.probability(symbol, given) for symbol in symbols}
        assert law.chances == {symbol: crosses.probability(symbol, given) for symbol in symbols}
        assert law.lengths == {2}
    assert (channel.worst_ratio, channel.symbols) == (crosses.worst_ratio, crosses.symbols)


class DrawsByTheAnswer(OneOf):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        coins.below(self.inputs)
        metric = max(range(self.inputs), key=value.__getitem__)
        return 2 * metric + (value[metric] ^ (not coins.bernoulli(self.keep_numerator)))


class SaysTheTruth(OneOf):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        metric = coins.below(self.inputs)
        coins.bernoulli(self.keep_numerator)
        return 2 * metric + value[metric]


@pytest.mark.parametrize("wrong", [DrawsByTheAnswer, SaysTheTruth])
def test_a_wrong_draw_of_a_metric_is_refused_and_has_no_epsilon(wrong: type[OneOf]) -> None:
    mutant = wrong.within(request("1"), 3)
    inputs = list(product((0, 1), repeat=3))
    laws = [exact_law(partial(mutant.perturb, given)) for given in inputs]
    assert laws != [{symbol: mutant.probability(symbol, given) for symbol in range(6)} for given in inputs]
    assert worst(laws) > mutant.worst_ratio


def test_the_shares_of_one_of_several_metrics_are_unbiased() -> None:
    channel = OneOf.within(request("1"), 3)
    inverse = one_of.inverse(channel)
    for given in product((0, 1), repeat=3):
        law = np.array([float(channel.probability(symbol, given)) for symbol in range(channel.symbols)])
        assert inverse.symbol_law(np.array(given, dtype=float)) == pytest.approx(law)
        scores = np.array([inverse.contrast(weights) for weights in np.eye(3)])
        assert scores @ law == pytest.approx(np.array(given, dtype=float))
        squares = scores**2 @ law
        assert squares == pytest.approx(3 * np.where(given, inverse.squares(3).own, inverse.squares(3).other))
        assert inverse.shares(np.rint(law * 6e15).astype(np.int64), 6 * 10**15) == pytest.approx(
            np.array(given, dtype=float)
        )
