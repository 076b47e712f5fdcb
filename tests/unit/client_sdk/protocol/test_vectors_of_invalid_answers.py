"""This implementation agrees with the vectors of invalid answers, which cover every kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from client_sdk.answers import counters
from client_sdk.answers.mistakes import Mistakes
from client_sdk.protocol import Coins, Metric, Registry
from tests.support.core.tables import for_each
from tests.support.laws.coins import ScriptedCoins
from tests.support.vectors import vectors

INVALID = vectors("invalid")
WINDOW = "2026-11-20"
"""The window of a vector's rotations."""


def given(answer: Any) -> Any:
    """Return an answer of the vectors: JSON, or a number that JSON does not have."""
    if isinstance(answer, list):
        return [given(part) for part in answer]
    return float(answer["number"]) if isinstance(answer, dict) and "number" in answer else answer


def replayed(vector: dict[str, Any], read: Callable[[Metric, Mistakes, Any, Coins], int]) -> list[str]:
    """Check each case; return what became of the answers."""
    metric, became = Registry.parse(vector["definition"]).metric(vector["metric"]), []
    for case in vector["cases"]:
        mistakes = Mistakes()
        with ScriptedCoins(case["coins"]) as coins:
            assert read(metric, mistakes, given(case["answer"]), coins) == case["symbol"]
        assert [[primitive, str(parameter)] for primitive, parameter in coins.requests] == case["asked"]
        became.append("invalid" if mistakes.counts else "clipped")
    return became


@for_each("vector", INVALID["answers"])
def test_an_answer_is_clipped_or_drawn_as_in_the_vector(vector: dict[str, Any]) -> None:
    def reported(metric: Metric, mistakes: Mistakes, answer: object, coins: Coins) -> int:
        value = mistakes.valid(metric, partial(metric.encode, answer, coins), partial(metric.draw, coins))
        channel = metric.channel.in_window(WINDOW)
        return channel.perturb(value, coins)

    assert replayed(vector, reported) == [case["became"] for case in vector["cases"]]


@for_each("vector", INVALID["added"])
def test_what_is_added_to_a_count_is_clipped_or_drawn_as_in_the_vector(vector: dict[str, Any]) -> None:
    def added(metric: Metric, mistakes: Mistakes, answer: object, coins: Coins) -> int:
        return mistakes.valid(
            metric, partial(counters.addend, metric, answer), partial(counters.draw_addend, metric, coins)
        )

    assert replayed(vector, added) == ["invalid" if case["coins"] else "clipped" for case in vector["cases"]]


def test_the_vectors_cover_every_kind() -> None:
    kinds = {json.loads(vector["meaning"])["kind"] for vector in vectors("editions")}
    metrics = [Registry.parse(vector["definition"]).metric(vector["metric"]) for vector in INVALID["answers"]]
    assert {metric.kind.name for metric in metrics} == kinds - {"model"}  # whose inputs are a vector's
