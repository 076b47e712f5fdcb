"""This implementation agrees with the language-neutral vectors of models."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.mechanisms.crosses import Crosses
from tests.support.laws.channels import integers_of
from tests.support.laws.coins import ScriptedCoins
from tests.support.vectors import vectors
from tests.unit.client_sdk.protocol.test_vectors_of_channels import agree, texts

VECTORS = vectors("model")


@pytest.mark.parametrize("vector", VECTORS["encoded"])
def test_an_answer_becomes_integers(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    for case in vector["cases"]:
        encoded = list(metric.encode(case["answer"], ScriptedCoins([])))
        length = len(case["input"])
        assert encoded == case["input"] + [0] * (metric.channel.inputs - length)


@pytest.mark.parametrize("vector", VECTORS["channels"])
def test_crosses_turn_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    channel = Crosses(**integers_of(vector))
    assert texts(channel.integers) == vector["integers"]
    agree(channel.perturb, vector["cases"], "input")


@pytest.mark.parametrize("vector", VECTORS["answers"])
def test_a_metric_turns_an_answer_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    agree(partial(metric.perturb, window=vector["window"]), vector["cases"])
