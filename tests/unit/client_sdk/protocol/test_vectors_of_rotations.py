"""This implementation agrees with the language-neutral vectors of rotated axes."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes, rotated, shifted, signs
from client_sdk.protocol.vector import Vector
from tests.support.core.tables import for_each
from tests.support.laws.channels import integers_of
from tests.support.laws.coins import ScriptedCoins
from tests.support.vectors import vectors
from tests.unit.client_sdk.protocol.test_vectors_of_channels import agree, texts

VECTORS = vectors("vector")


@for_each("vector", VECTORS["signs"])
def test_the_signs_of_a_round_follow_from_window_dimension_rotation_and_round(vector: dict[str, Any]) -> None:
    of_round = signs(vector["dimension"], vector["rotation"], vector["round"], vector["window"])
    assert [place for place, sign in enumerate(of_round) if sign < 0] == vector["negative"]
    assert len(of_round) == vector["dimension"]


@pytest.mark.parametrize("vector", VECTORS["rotated"])
def test_a_vector_is_turned_in_integers(vector: dict[str, Any]) -> None:
    assert rotated(vector["vector"], vector["rotation"], vector["window"]) == vector["turned"]
    assert shifted(vector["vector"], vector["rotation"], vector["window"]) == vector["shifted"]


@for_each("vector", VECTORS["encoded"])
def test_an_answer_becomes_integers(vector: dict[str, Any]) -> None:
    domain = Vector(3, Fraction(vector["norm"]))
    assert list(domain.encode(vector["answer"], 8, ScriptedCoins([]))) == vector["vector"]


@pytest.mark.parametrize("vector", VECTORS["channels"])
def test_a_channel_turns_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    channel = RotatedAxes(**integers_of(vector), window=vector["window"])
    assert texts(channel.integers) == vector["integers"]
    agree(channel.perturb, vector["cases"], "input")


@pytest.mark.parametrize("vector", VECTORS["answers"])
def test_a_metric_turns_an_answer_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    agree(partial(metric.perturb, window=vector["window"]), vector["cases"])
