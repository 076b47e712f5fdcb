"""Ten thousand reports of an answer that never changes reveal no more than its permanent answer,
even to the best attack.

Devices draw their secrets, and reports their coins, from a seeded generator. The tally of a
device's reports is drawn from its exact law.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
from numpy.typing import NDArray

from client_sdk.answers.randomized import permanent_answer
from client_sdk.ledger.device import Secret
from client_sdk.protocol import Metric
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.laws.permanents import answer_of, asking, channel_of
from tests.support.laws.sampling import Decision, accepts, decision

REPORTS = 10_000
ADVANTAGE = 0.12
"""By how much an attack must succeed more often than allowed before a procedure is refused."""

Tally = NDArray[np.int64]
"""How often each symbol was reported."""

Matrix = NDArray[np.float64]
Draw = Callable[[Metric, int, np.random.Generator], Tally]
"""How often each symbol occurs in all reports of a device with a given true value."""


@cache
def matrix(channel: Permanent) -> tuple[Matrix, Matrix]:
    """Return the laws of the two steps; rows are inputs."""
    steps = (channel.permanent, channel.instantaneous)
    first, second = (
        np.array([[float(step.probability(y, x)) for y in range(step.symbols)] for x in range(step.inputs)])
        for step in steps
    )
    return first, second


def as_the_sdk_does(metric: Metric, value: int, generator: np.random.Generator) -> Tally:
    channel = channel_of(metric)
    secret = Secret(generator.bytes(32), 1)
    answer = permanent_answer(metric, channel, partial(metric.encode, answer_of(metric, value)), secret)
    tally: Tally = generator.multinomial(REPORTS, matrix(channel)[1][answer.symbol])
    return tally


def redrawn_at_each_report(metric: Metric, value: int, generator: np.random.Generator) -> Tally:
    """Like a device whose every report has its own permanent answer."""
    first, second = matrix(channel_of(metric))
    tally: Tally = generator.multinomial(REPORTS, (first @ second)[value])
    return tally


def redrawn_every_hundred_reports(metric: Metric, value: int, generator: np.random.Generator) -> Tally:
    """Like a device that forgets its secret now and then."""
    first, second = matrix(channel_of(metric))
    answers = generator.multinomial(REPORTS // 100, first[value])
    tally: Tally = np.sum([generator.multinomial(100 * often, second[z]) for z, often in enumerate(answers)], axis=0)
    return tally


def posterior(tally: Tally, channel: Permanent) -> Matrix:
    """Return the posterior of the truth under the true law, from a uniform prior, up to a
    factor.
    """
    first, second = matrix(channel)
    likelihood: Matrix = np.log(second) @ tally
    weights: Matrix = first @ np.exp(likelihood - likelihood.max())
    return weights


def likeliest_of_single_reports(tally: Tally, channel: Permanent) -> Matrix:
    """Return how likely each truth is if the reports are taken for independent."""
    first, second = matrix(channel)
    scores: Matrix = np.log(first @ second) @ tally
    return scores


def successes(draw: Draw, metric: Metric, devices: int, seed: int) -> int:
    """Return how often the better of two attacks names the truth of a device, which is uniform."""
    channel, generator = channel_of(metric), np.random.default_rng(seed)
    hits = {posterior: 0, likeliest_of_single_reports: 0}
    for _ in range(devices):
        truth = int(generator.integers(channel.inputs))
        tally = draw(metric, truth, generator)
        for attack in hits:
            hits[attack] += int(np.argmax(attack(tally, channel)) == truth)
    return max(hits.values())


def bound_of(metric: Metric) -> float:
    """Return e^epsilon / (e^epsilon + k - 1): how often the best guess is right."""
    channel = channel_of(metric)
    ratio = float(channel.permanent.worst_ratio)
    return ratio / (ratio + channel.inputs - 1)


def tells_too_much(draw: Draw, metric: Metric, seed: int) -> bool:
    """Whether an attack succeeds more often than the permanent epsilon allows."""
    decided = decision(bound_of(metric), bound_of(metric) + ADVANTAGE)
    return not accepts(decided, bound_of(metric), successes(draw, metric, decided.draws, seed))


METRICS = {"two": partial(asking, 2, permanent="1"), "four": partial(asking, 4, permanent="1.5")}


@pytest.mark.parametrize("values", METRICS)
def test_the_best_attack_recovers_a_permanent_answer_as_often_as_epsilon_says(values: str) -> None:
    metric = METRICS[values]().metric("m")
    assert not tells_too_much(as_the_sdk_does, metric, seed=1)


@pytest.mark.parametrize("values", METRICS)
def test_the_attack_is_as_good_as_epsilon_allows(values: str) -> None:
    """A weak attack would prove nothing: this one succeeds as often as possible."""
    metric = METRICS[values]().metric("m")
    bound = bound_of(metric)
    decided: Decision = decision(bound, bound - ADVANTAGE)
    assert accepts(decided, bound, successes(as_the_sdk_does, metric, decided.draws, seed=2))


@pytest.mark.parametrize("values", METRICS)
@pytest.mark.parametrize("draw", [redrawn_at_each_report, redrawn_every_hundred_reports])
def test_a_permanent_answer_that_is_redrawn_is_refused(values: str, draw: Draw) -> None:
    metric = METRICS[values]().metric("m")
    assert tells_too_much(draw, metric, seed=3)
