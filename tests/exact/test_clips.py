"""Clips: the error of each is that of the law, and a pilot window's choice is nearly the best one.

The rule for the tail of a pilot window was fixed on exponential, log-normal (sigma 1 and 2),
uniform and normal people, on one spike, and on visits. None of them is among those of this file.
A first rule, of the .95 quantile and ``square-wave``, was within 1.2 on 7 of ten others, which are
not among them, either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

import numpy as np
import pytest

from client_sdk.protocol import Metric, Window
from estimator.analyses.clips import Clip, Numbers, clip_at
from estimator.analyses.metric import analysis_of
from estimator.decoders.decoder import Decoder
from estimator.decoders.inversions import decoder_of, grid_law, sampler_of
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import NUMBER, metric_of

SEEDS: Final = 3
PEOPLE: Final = 10_000
HIGH: Final = 1000.0
NEAR: Final = 1.2
"""Times the least error of all ranges: the promise of ``docs/reference/plans.md``."""

OFTEN: Final = 8
"""Of ten populations."""

HELD_OUT: Final[dict[str, Callable[[np.random.Generator], Floats]]] = {
    "chi-square": lambda draw: 15 * draw.chisquare(4, PEOPLE),
    "two rates": lambda draw: draw.exponential(np.where(draw.random(PEOPLE) < 0.8, 20, 120)),
    "gumbel": lambda draw: np.maximum(draw.gumbel(150, 50, PEOPLE), 0),
    "lomax": lambda draw: 120 * draw.pareto(3, PEOPLE),
    "triangular": lambda draw: draw.triangular(0, 50, 600, PEOPLE),
    "log-normal, sigma 0.6": lambda draw: draw.lognormal(4, 0.6, PEOPLE),
    "negative binomial": lambda draw: 4 * draw.negative_binomial(2, 0.1, PEOPLE).astype(float),
    "rayleigh": lambda draw: draw.rayleigh(100, PEOPLE),
    "zipf": lambda draw: 5 * draw.zipf(2.2, PEOPLE).astype(float),
    "a tenth at the end": lambda draw: np.where(draw.random(PEOPLE) < 0.1, HIGH, draw.gamma(2, 40, PEOPLE)),
}


def people_of(answers: Floats) -> Numbers:
    return Numbers(np.sort(np.minimum(answers, HIGH)), np.full(answers.size, 1 / answers.size))


def decoder_for(metric: Metric) -> Decoder:
    decoder = decoder_of(metric.channel)
    assert decoder is not None
    return decoder


def law_of_clip(metric: Metric, high: float, people: Numbers) -> tuple[float, float]:
    """Return the mean of a report's score and its standard deviation, over all symbols."""
    inputs = metric.channel.inputs
    places = np.clip(people.values, 0, high) / high * (inputs - 1)
    below = np.minimum(places.astype(int), inputs - 2)
    shares = np.zeros(inputs)
    np.add.at(shares, below, people.weights * (1 - (places - below)))
    np.add.at(shares, below + 1, people.weights * (places - below))
    law, scores = grid_law(metric.channel).symbol_law(shares), high * decoder_for(metric).scores
    mean = float(law @ scores)
    return mean, math.sqrt(float(law @ (scores - mean) ** 2))


MEAN: Final = metric_of(NUMBER, high=HIGH, epsilon=1)
SMALL: Final = Numbers(np.array([0.0, 1.0, 4.0, 30.0, 700.0]), np.array([0.3, 0.3, 0.2, 0.15, 0.05]))

Rule = Callable[[float, float, Numbers, Decoder, int], Clip]


def agrees(rule: Rule) -> bool:
    """Return whether the bias and the noise of some clips are those of the law."""
    for high in (4.0, 10.0, 700.0, 1000.0):
        mean, deviation = law_of_clip(MEAN, high, SMALL)
        clip = rule(0.0, high, SMALL, decoder_for(MEAN), 400)
        expected = (mean - float(SMALL.weights @ SMALL.values), deviation / 20)
        if not np.allclose((clip.bias, clip.noise, clip.error), (*expected, math.hypot(*expected)), rtol=1e-6):
            return False
    return True


def _of_more_reports(low: float, high: float, people: Numbers, decoder: Decoder, reports: int) -> Clip:
    return clip_at(low, high, people, decoder, 2 * reports)


def _of_clipped_people(low: float, high: float, people: Numbers, decoder: Decoder, reports: int) -> Clip:
    return clip_at(low, high, Numbers(np.minimum(people.values, high), people.weights), decoder, reports)


MUTANTS: Final[dict[str, Rule]] = {"twice the reports": _of_more_reports, "no bias": _of_clipped_people}


def test_the_bias_and_the_noise_of_a_clip_are_those_of_the_law() -> None:
    assert agrees(clip_at)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_law_refuses_a_wrong_clip(mutant: str) -> None:
    assert not agrees(MUTANTS[mutant])


def test_the_smallest_change_is_seen_four_times_in_five() -> None:
    """A rise by that part moves the clipped mean by 1.96 + 0.84 standard errors of a difference."""
    clip = clip_at(0.0, 700.0, SMALL, decoder_for(MEAN), 20_000)
    assert clip.smallest_change is not None
    moved = np.clip(SMALL.values * (1 + clip.smallest_change), 0, 700) - SMALL.values
    assert float(SMALL.weights @ moved) / (math.sqrt(2) * clip.noise) == pytest.approx(2.8016, rel=1e-4)
    assert clip_at(0.0, 700.0, SMALL, decoder_for(MEAN), 1).smallest_change is None


def chosen_from_pilot(people: Numbers, seed: int) -> float:
    """Return the range that a pilot window of quantiles recommends for the mean."""
    metric, draw = metric_of(NUMBER, high=HIGH, statistic="quantiles", epsilon=1), np.random.default_rng(seed)
    places = draw.choice(people.values, PEOPLE) / HIGH * (metric.channel.inputs - 1)
    below = np.minimum(places.astype(int), metric.channel.inputs - 2)
    points = np.bincount(below + (draw.random(PEOPLE) < places - below), minlength=metric.channel.inputs)
    counts = tuple(sampler_of(metric.channel)(points, draw).tolist())
    tally = Tally("m", metric.edition, Window.parse("2026-11-20"), closed=True, reports=PEOPLE, counts=counts)
    pilot = analysis_of(metric).pilot(tally)
    assert pilot is not None
    return next((clip.high for clip in analysis_of(metric).clips(pilot, PEOPLE) if clip.is_best), HIGH)


def ratio_to_best(people: Numbers, high: float) -> float:
    error = partial(clip_at, 0.0, people=people, decoder=decoder_for(MEAN), reports=PEOPLE)
    best = min(error(high=each).error for each in np.geomspace(HIGH / 1000, HIGH, 150).tolist())
    return error(high=high).error / best


@pytest.mark.long
def test_a_pilot_window_recommends_a_range_that_is_nearly_the_best() -> None:
    ratios = {}
    for name, answers in HELD_OUT.items():
        people = people_of(answers(np.random.default_rng(1)))
        ratios[name] = median(ratio_to_best(people, chosen_from_pilot(people, seed)) for seed in range(SEEDS))
    assert len(ratios) == 10
    assert sum(ratio <= NEAR for ratio in ratios.values()) >= OFTEN, ratios


@pytest.mark.long
def test_true_answers_recommend_a_range_that_is_nearly_the_best() -> None:
    """Of a sample of 500 people, such as those of a CSV."""
    ratios = {}
    for name, answers in HELD_OUT.items():
        people = people_of(answers(np.random.default_rng(1)))
        sample = people_of(np.random.default_rng(2).choice(people.values, 500))
        clips = analysis_of(MEAN).clips(sample, PEOPLE)
        ratios[name] = ratio_to_best(people, next((clip.high for clip in clips if clip.is_best), HIGH))
    assert sum(ratio <= NEAR for ratio in ratios.values()) >= OFTEN, ratios
