"""A scale of which the mean is asked: its steps are numbers that have names."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import floor

import pytest

from client_sdk.commands.codegen import module_of
from client_sdk.labels import reported
from client_sdk.protocol import COIN_SCALE, OutsideDomainError, Registry
from client_sdk.protocol.kinds.ordinal import Ordinal, OrdinalMean
from client_sdk.protocol.sentences import shipped
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CATEGORY, NUMBER, Field, Toml, mistakes, parsed, registry_text, without
from tests.support.laws.coins import ScriptedCoins, exact_law, walk

STEPS = ["never", "at times", "often", "always", "only"]
MOOD: dict[str, Field] = {"purpose": "Often?", "kind": "ordinal", "values": STEPS, "epsilon": 1, "statistic": "mean"}


def mood_registry(**more: Field) -> Registry:
    return Registry.parse(registry_text(m=MOOD | more))


@pytest.mark.parametrize("inputs", [2, 3, 5, 8, 1001])
def test_each_step_becomes_its_place_on_the_grid_on_average_by_one_coin(inputs: int) -> None:
    domain = OrdinalMean(Ordinal(tuple(STEPS)))
    for place, step in enumerate(STEPS):
        exact = Fraction(place, len(STEPS) - 1) * (inputs - 1)
        low = min(floor(exact), inputs - 2)
        law = exact_law(partial(domain.encode, step, inputs))
        assert set(law) <= {low, low + 1}
        assert abs(sum(point * chance for point, chance in law.items()) - exact) < Fraction(1, COIN_SCALE)
        assert walk(partial(domain.encode, step, inputs)).lengths == {1}


@for_each("answer", ["Never", "", 1, 1.0, True, None, ["never"], b"never"])
def test_what_is_no_step_is_refused_without_being_named(answer: object) -> None:
    with pytest.raises(OutsideDomainError) as caught, ScriptedCoins([]) as coins:
        mood_registry().metric("m").perturb(answer, coins)
    assert "'never', 'at times'" in str(caught.value)
    assert repr(answer) not in str(caught.value) or answer == ""


def test_auto_takes_for_it_what_it_takes_for_the_mean_of_a_number() -> None:
    for epsilon in (0.3, 1, 4, 8):
        registry = Registry.parse(registry_text(m=MOOD | {"epsilon": epsilon}, n=NUMBER | {"epsilon": epsilon}))
        assert registry.metric("m").channel == registry.metric("n").channel
    assert mood_registry(mechanism="optimal-mean").metric("m").channel.name == "optimal-mean"


def test_its_edition_differs_from_that_of_the_shares_and_by_the_order_of_its_steps() -> None:
    shares = without(MOOD, "statistic") | {"mechanism": "k-ary-randomized-response"}
    editions = {
        mood_registry().metric("m").edition,
        mood_registry(values=STEPS[::-1]).metric("m").edition,
        Registry.parse(registry_text(m=shares)).metric("m").edition,
    }
    assert len(editions) == 3


def test_a_permanent_answer_is_an_end_of_the_scale() -> None:
    metric = mood_registry(permanent_epsilon=Toml("2")).metric("m")
    assert (metric.channel.name, metric.channel.inputs) == ("permanent one-bit", 2)


def test_what_it_cannot_be_is_named() -> None:
    for key, value in (("fill_in", True), ("unit", "stars"), ("utility", Toml("[[0, 1], [1, 0]]")), ("persist", True)):
        assert list(mistakes(m=MOOD | {key: value})) == [f"metric.m.{key}"]
    said = mistakes(m=MOOD | {"statistic": "distribution"})["metric.m.statistic"]
    assert said == 'must be "mean" for an ordinal; remove it to estimate the mean and all shares'
    for mechanism, advice in (("exponential", "remove statistic"), ("square-wave", "use one that does")):
        assert advice in mistakes(m=MOOD | {"mechanism": mechanism})["metric.m.mechanism"]
    shares = without(MOOD, "statistic")
    assert 'statistic = "mean"' in mistakes(m=shares | {"mechanism": "optimal-mean"})["metric.m.mechanism"]
    crossed: dict[str, Field] = {"cross": ["os", "m"], "purpose": "?", "epsilon": 1}
    assert list(mistakes(m=MOOD, os=CATEGORY, both=crossed)) == ["metric.both.cross"]


def test_a_report_is_shown_by_the_names_of_steps() -> None:
    metric = mood_registry(mechanism="optimal-mean", epsilon=4).metric("m")
    said = {reported(metric, symbol, shipped()) for symbol in range(metric.channel.symbols)}
    assert {part for text in said for part in text.split(" to ")} == set(STEPS)


def test_typed_code_takes_the_steps() -> None:
    literals = "Literal[" + ", ".join(f'"{step}"' for step in STEPS) + "]"
    assert f"self.m: Metric[{literals}]" in module_of(mood_registry())
    assert parsed(m=MOOD)["m"].kind.name == "ordinal"
