"""What is reported for an invalid answer: the mixture of the laws of all inputs, for every kind.

The inputs are enumerated here by kind, without the product's own draw. The joint law of a draw and
a report is the enumerated one, so that nothing but the drawn input decides the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest

from client_sdk.answers import counters
from client_sdk.answers.mistakes import Mistakes
from client_sdk.protocol import COIN_SCALE, Coins, Metric
from client_sdk.protocol.model import CrossedModel
from client_sdk.protocol.text import Text
from client_sdk.protocol.vector import UNIT
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    CROSSED_MODEL,
    GAUSSIAN,
    MEAN_BY_GROUP,
    MODEL,
    NEAREST,
    NUMBER,
    SET,
    TEXT,
    VECTOR,
    Field,
    parsed,
)
from tests.support.laws.coins import ScriptedCoins, exact_law

PARTS: dict[str, dict[str, Field]] = {"dark_mode": BOOLEAN, "os": CATEGORY, "startup_ms": NUMBER}
METRICS: dict[str, dict[str, Field]] = {
    "boolean": BOOLEAN,
    "category": CATEGORY,
    "category with other": CATEGORY | {"other": "c"},
    "ordinal": CATEGORY | {"kind": "ordinal"},
    "mean of an ordinal": CATEGORY | {"kind": "ordinal", "statistic": "mean", "mechanism": "one-bit"},
    "nearest": NEAREST,
    "set": SET,
    "cross": CROSS,
    "number by group": MEAN_BY_GROUP,
    "mean": NUMBER | {"mechanism": "one-bit"},
    "mean without clipping": NUMBER | {"mechanism": "one-bit", "clip": False},
    "count": COUNT,
    "days": ACTIVITY,
    "filled in": CATEGORY | {"fill_in": True},
}
MANY: dict[str, dict[str, Field]] = {
    "optimal mean": NUMBER | {"mechanism": "optimal-mean"},
    "gaussian": GAUSSIAN,
    "quantiles": NUMBER | {"statistic": "quantiles"},
    "vector": VECTOR,
    "model": MODEL,
    "model of crosses": CROSSED_MODEL,
    "text": TEXT,
}
"""Questions with too many inputs, or coins too fine, to enumerate both draws together."""


def metric_of(fields: dict[str, Field]) -> Metric:
    return parsed(**PARTS, m=fields)["m"]


def inputs_of(metric: Metric) -> Sequence[Any]:
    """Return all inputs of a channel; of one for vectors the signed axes, for sets neighbors."""
    inputs = metric.channel.inputs
    if metric.kind.drawn:
        return [tuple((first + step) % inputs for step in range(metric.kind.drawn)) for first in range(inputs)]
    if isinstance(metric.kind, CrossedModel):
        return list(product(*map(range, metric.kind.pairs)))
    if metric.channel.turns:
        return [
            tuple(sign * UNIT * (place == axis) for place in range(inputs))
            for axis in range(inputs)
            for sign in (1, -1)
        ]
    return range(inputs)


def drawn(metric: Metric, coins: Coins) -> Any:
    """Return the input that takes the place of a wrong answer, by the product's own path."""
    mistakes = Mistakes()
    wrong = object()
    value = mistakes.valid(metric, partial(metric.encode, wrong, coins), partial(metric.draw, coins))
    assert mistakes.counts == {"invalid": 1}
    return value


@for_each("fields", METRICS.values())
def test_an_invalid_answer_is_reported_by_the_even_mixture_of_all_inputs(fields: dict[str, Field]) -> None:
    metric = metric_of(fields)
    inputs = inputs_of(metric)

    def reported(coins: Coins) -> tuple[Any, int]:
        value = drawn(metric, coins)
        return value, metric.channel.perturb(value, coins)

    joint = exact_law(reported)
    assert sum(joint.values()) == 1
    expected = {
        (value, symbol): metric.channel.probability(symbol, value) / len(inputs)
        for value in inputs
        for symbol in range(metric.channel.symbols)
    }
    assert joint == {pair: chance for pair, chance in expected.items() if chance}
    odds = metric.channel.worst_ratio
    for symbol in range(metric.channel.symbols):
        mixed = sum((expected[value, symbol] for value in inputs), Fraction(0))
        for value in inputs:  # within the declared epsilon of every valid answer, both ways
            assert mixed <= odds * metric.channel.probability(symbol, value)
            assert metric.channel.probability(symbol, value) <= odds * mixed


@for_each("fields", (METRICS | MANY).values())
def test_every_input_is_drawn_equally_often_for_an_invalid_answer(fields: dict[str, Field]) -> None:
    metric = metric_of(fields)
    if isinstance(metric.kind, Text):
        groups = len(metric.kind.groups(metric.channel.inputs))
        script = [(7 * group) % metric.channel.inputs for group in range(groups)]
        with ScriptedCoins(script) as coins:
            assert drawn(metric, coins) == tuple(script)
        assert coins.requests == [("below", metric.channel.inputs)] * groups
        return
    inputs = inputs_of(metric)
    assert exact_law(partial(drawn, metric)) == dict.fromkeys(inputs, Fraction(1, len(inputs)))


def test_an_invalid_number_of_a_count_is_drawn_evenly_up_to_its_max() -> None:
    metric = metric_of(COUNT)

    def added(coins: Coins) -> int:
        return Mistakes().valid(
            metric, partial(counters.addend, metric, "x"), partial(counters.draw_addend, metric, coins)
        )

    assert exact_law(added) == dict.fromkeys(range(10), Fraction(1, 10))


def skewed(metric: Metric, coins: Coins) -> Any:
    """Draw one input less, as an off-by-one would."""
    return coins.below(metric.channel.inputs - 1) if metric.channel.inputs > 2 else 0


def by_one_coin(metric: Metric, coins: Coins) -> Any:
    """Draw an end of the inputs by a coin."""
    return (metric.channel.inputs - 1) * coins.bernoulli(COIN_SCALE // 2)


@pytest.mark.parametrize("wrong", [skewed, by_one_coin, lambda *_: 0])
def test_a_replacement_of_another_law_is_told_from_the_right_one(wrong: Callable[[Metric, Coins], Any]) -> None:
    metric = metric_of(CATEGORY)
    assert exact_law(partial(wrong, metric)) != dict.fromkeys(range(3), Fraction(1, 3))
