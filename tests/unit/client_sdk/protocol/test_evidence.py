"""How much one report says: every figure of a sentence, by enumeration of the channel."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from client_sdk.protocol import Metric
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.kind import NO_COINS
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.sentences import SHIPPED, Sentences, shipped
from client_sdk.protocol.statement import bet_in_words, evidence, truth, truth_in_words
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    CROSS,
    GAUSSIAN,
    MEAN_BY_GROUP,
    NEAREST,
    NUMBER,
    SET,
    Field,
    Toml,
    metric_of,
    parsed,
)

TEN = CATEGORY | {"values": [f"v{number}" for number in range(10)]}
K_ARY = {"mechanism": "k-ary-randomized-response"}
PERMANENT: dict[str, Field] = {"permanent_epsilon": 4}

METRICS: dict[str, Metric] = {
    **{f"boolean at {epsilon}": metric_of(BOOLEAN, epsilon=epsilon) for epsilon in (0.75, "ln 3", 1, 4, 12)},
    **{f"ten at {epsilon}": metric_of(TEN | K_ARY, epsilon=epsilon) for epsilon in (0.1, 1, 4, 12)},
    "filled": metric_of(BOOLEAN | {"fill_in": True}),
    "permanent": metric_of(BOOLEAN | PERMANENT),
    "permanent of ten": metric_of(TEN | K_ARY | PERMANENT),
    "with other": metric_of(TEN | K_ARY | {"other": "v9"}),
    "nearest": metric_of(NEAREST | K_ARY),
    "ordinal": metric_of(TEN | K_ARY | {"kind": "ordinal"}),
    "cross": parsed(dark_mode=BOOLEAN, os=CATEGORY, both=CROSS | K_ARY)["both"],
    "set": metric_of(SET | K_ARY),
    "mean by group": parsed(os=CATEGORY, startup_ms=NUMBER, both=MEAN_BY_GROUP | K_ARY)["both"],
    "cyclic design": metric_of(TEN | {"mechanism": "cyclic-design"}),
    "projective geometry": metric_of(TEN | {"mechanism": "projective-geometry", "epsilon": 1}),
    "balanced design": metric_of(TEN | {"mechanism": "balanced-design", "epsilon": 1}),
    "exponential": metric_of(TEN | {"kind": "ordinal", "mechanism": "exponential"}),
    "count": metric_of({"purpose": "Why?", "kind": "count", "max": 5, "statistic": "distribution", "epsilon": 4}),
    **{
        name: metric_of(NUMBER | {"mechanism": name, "low": 0, "high": 5, "epsilon": 4})
        for name in ("one-bit", "laplace", "optimal-mean")
    },
    "square-wave": metric_of(NUMBER | {"statistic": "distribution", "mechanism": "square-wave"}),
    "hierarchical": metric_of({"purpose": "Why?", "kind": "count", "max": 20, "statistic": "quantiles", "epsilon": 4}),
    "gaussian": metric_of(GAUSSIAN),
}

MOST = 40
"""Inputs to enumerate: of a finer grid, the first and the last ones, which are the worst pair."""


def _exact(words: str) -> tuple[Fraction, Fraction]:
    """Return a share that is said, and the most by which rounding may have changed it."""
    part, whole = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+", words))
    return Fraction(part, whole), Fraction(1, 25) if whole == 10 else Fraction(1, 2 * whole)


@for_each("name", METRICS)
def test_as_many_reports_say_the_truth_as_is_said_whatever_the_answer_is(name: str) -> None:
    metric = METRICS[name]
    words = truth_in_words(metric, shipped())
    chance = truth(metric)
    if words is None or chance is None:
        step = metric.channel.last_step
        names_several = any(len(list(step.likeliest(symbol))) > 1 for symbol in range(step.symbols))
        law_differs = len({step.probability(value, value) for value in range(step.inputs)}) > 1
        assert isinstance(metric.kind, Grid | Subset | MeanByGroup) or names_several or law_differs
        return
    channel = metric.channel
    step = channel.last_step
    for answer in range(channel.inputs):
        naming = [symbol for symbol in range(channel.symbols) if list(step.likeliest(symbol)) == [answer]]
        assert sum(channel.probability(symbol, answer) for symbol in naming) == chance
    said, error = _exact(words)
    assert abs(said - chance) <= error


@pytest.mark.long
@for_each("name", METRICS)
def test_odds_after_a_report_are_as_is_said_at_most_and_reached(name: str) -> None:
    kind, channel = METRICS[name].kind, METRICS[name].channel
    step, inputs = channel.last_step, list[Any](range(channel.inputs))
    if kind.drawn:
        step, inputs = channel, [kind.encode(each.value, channel.inputs, NO_COINS) for each in kind.extremes()]
    elif len(inputs) > MOST:
        inputs = [*inputs[:2], *inputs[-2:]]
    symbols = range(step.symbols)
    rows = [[step.probability(symbol, given) for symbol in symbols] for given in inputs]
    sure = {
        max(high, low) / (high + low)
        for first, second in combinations(rows, 2)
        for high, low in zip(first, second, strict=True)
        if high + low
    }
    said, error = _exact(bet_in_words(channel.worst_ratio, shipped()))
    exact = channel.worst_ratio / (1 + channel.worst_ratio)
    assert 0 <= said - exact <= 2 * error, "a bound is rounded up"
    if METRICS[name].delta:
        assert max(sure) > exact, "which is why the sentence says how often"
        assert "except with a chance of 1 in " in evidence([METRICS[name]], shipped())
    else:
        assert max(sure) == exact


@pytest.mark.parametrize(
    ("epsilon", "strength", "share"),
    [
        *((0.75, "weak", "about 68 of 100 reports are true"), ("ln 3", "weak", "about 75 of 100 reports are true")),
        *((1, "weak", "about 73 of 100 reports are true"), (4, "strong", "about 98 of 100 reports are true")),
        ("ln 99", "strong", "about 99 of 100 reports are true"),
        ("ln 100", "known", "about 99 of 100 reports are true"),
        (12, "known", "about 99,999 of 100,000 reports are true"),
    ],
)
def test_the_sentence_is_chosen_by_epsilon(epsilon: float | str, strength: str, share: str) -> None:
    said = evidence([metric_of(BOOLEAN, epsilon=epsilon)], shipped())
    assert {"weak": "weak evidence", "strong": "strong evidence", "known": "practically reveals"}[strength] in said
    assert share in said
    assert ("nobody can be sure" in said) == (strength == "weak")


def test_the_page_to_sign_says_the_same_figures() -> None:
    page = " ".join((Path(__file__).parents[4] / "docs/privacy/index.md").read_text(encoding="utf-8").split())
    shares = [truth_in_words(metric_of(BOOLEAN, epsilon=epsilon), shipped()) for epsilon in ("ln 3", 4, 12)]
    first, second, third = shares
    said = f"about {first} yes-or-no reports are true; at 4, about {second}; at 12, about {third},"
    assert said in page


@pytest.mark.parametrize(("epsilon", "share"), [(0.75, "7 in 10"), (1, "74 in 100"), ("ln 3", "75 in 100")])
def test_odds_are_said_in_tenths_where_that_is_close(epsilon: float | str, share: str) -> None:
    assert f"the chance of one of them to at most about {share}." in evidence(
        [metric_of(NUMBER, epsilon=epsilon)], shipped()
    )


def test_the_most_revealing_metric_decides() -> None:
    metrics = parsed(a=BOOLEAN | {"epsilon": 1}, b=BOOLEAN | {"epsilon": 12}, c=NUMBER).values()
    assert "practically reveals" in evidence(metrics, shipped())
    assert " b:" in evidence(metrics, shipped())


@for_each("language", SHIPPED)
@for_each("name", METRICS)
def test_every_sentence_is_whole_in_every_language(name: str, language: str) -> None:
    said = evidence([METRICS[name]], shipped(language))
    assert not set("{}") & set(said)
    assert said.endswith(".")


def test_a_share_is_never_none_or_all() -> None:
    say: Sentences = shipped()
    assert bet_in_words(Fraction(10**7), say) == "99,999,991 in 100,000,000"
    assert truth_in_words(metric_of(TEN | K_ARY | {"epsilon": Toml("0.000001")}), say) == "10 of 100"
    thousand = CATEGORY | {"values": [f"v{number}" for number in range(1000)], "epsilon": 0.5}
    assert truth_in_words(metric_of(thousand | K_ARY), say) == "2 of 1,000"
