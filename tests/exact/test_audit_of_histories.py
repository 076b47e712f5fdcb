"""The audit's contests of histories: protected pairs pass, and claims beyond that are refuted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from client_sdk.protocol import Metric
from estimator.audit.attack import LowerBound, PrivacyClaim, attack, level_of
from estimator.audit.features import Feature, ObservationTable, Rows
from estimator.audit.games import APART, LEAST_REPORTS, MONTH, Contest, scenes
from tests.support.devices.definitions import CATEGORY, NUMBER, Field, metric_of
from tests.support.laws.histories import History, places, rounded
from tests.support.laws.permanents import asking, channel_of

SEED = 7

DEVICES = 20_000
"""Devices with each history: twice as many as it takes to refute the claim for a category; a number
needs fewer.
"""

ONCE: dict[str, Field] = {"epsilon": 2, "permanent_epsilon": 2, "protects": "pattern", "max_values": 2}

METRICS = {"category": metric_of(CATEGORY | ONCE), "number": metric_of(NUMBER | ONCE | {"high": 1})}

KEPT = {"category": f"{MONTH} windows, one pattern", "number": f"{MONTH} windows, all between"}


def contest_of(metric: Metric, horizon: str) -> Contest:
    registry = replace(asking(2), metrics={"m": metric})
    (contest,) = [
        contest for scene in scenes(registry, LEAST_REPORTS) for contest in scene.contests if contest.horizon == horizon
    ]
    return contest


def drawn(matrix: NDArray[np.float64], inputs: Rows, generator: np.random.Generator) -> Rows:
    """Return an output for each input of a channel."""
    outputs: Rows = (generator.random(inputs.shape)[..., None] > np.cumsum(matrix, axis=1)[inputs]).sum(axis=-1)
    return outputs


def reports_of_devices(metric: Metric, history: History, devices: int, generator: np.random.Generator) -> Rows:
    """Return the reports of many devices with equal answers: permanent answers, each perturbed in
    its windows.
    """
    channel = channel_of(metric)
    permanent, instantaneous = (
        np.array([[float(step.probability(y, x)) for y in range(step.symbols)] for x in range(step.inputs)])
        for step in (channel.permanent, channel.instantaneous)
    )
    paid = list(dict.fromkeys(history))[: metric.max_values]
    answers = drawn(permanent, np.tile(np.array(paid), (devices, 1)), generator)
    return drawn(instantaneous, answers[:, list(places(history, metric.max_values))], generator)


def rows_of(metric: Metric, answers: list[object], generator: np.random.Generator) -> Rows:
    """Return what the devices of one life report of numbers, in the exact proportions of the
    offsets.
    """
    labels: list[object] = list(metric.domain.labels)
    if labels:
        history = [labels.index(answer) for answer in answers]
        return reports_of_devices(metric, history, DEVICES, generator)
    numbers = [Fraction(answer) for answer in answers if isinstance(answer, int | Fraction)]
    assert len(numbers) == MONTH
    ways = list(rounded(metric, numbers))
    shares = generator.multinomial(DEVICES, [float(weight) for weight, _ in ways])
    parts = [reports_of_devices(metric, ends, n, generator) for n, (_, ends) in zip(shares.tolist(), ways, strict=True)]
    return generator.permutation(np.concatenate(parts))


def proof_of(metric: Metric, contest: Contest, claim: PrivacyClaim) -> LowerBound:
    generator = np.random.default_rng(SEED)
    first, second = (rows_of(metric, [window["m"] for window in life.answers], generator) for life in contest.lives)
    features = tuple(Feature("symbol", window) for window in range(MONTH))
    return attack(ObservationTable(features, (True,) * MONTH, first, second), claim, level_of(1))


@pytest.mark.parametrize("kind", METRICS)
def test_what_is_kept_together_is_not_accused(kind: str) -> None:
    contest = contest_of(METRICS[kind], KEPT[kind])
    assert proof_of(METRICS[kind], contest, contest.claim).excess == 0


@pytest.mark.parametrize("kind", METRICS)
def test_what_was_promised_of_histories_that_change_at_the_same_times_is_refuted(kind: str) -> None:
    """Both answers were charged, at epsilon 2 each, and that was said to bound everything that a
    month reveals.
    """
    metric = METRICS[kind]
    contest = contest_of(metric, APART)
    assert metric.reserve_nanos == 4 * 10**9
    proof = proof_of(metric, contest, PrivacyClaim(4.0))
    assert proof.excess > 0
    assert proof.epsilon <= contest.claim.epsilon
