"""A hierarchical histogram inverted: its law, and its unbiased mean, whose noise is the least."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from estimator.analyses.metric import analysis_of
from estimator.decoders import hierarchical
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.statistics.arrays import Floats
from tests.support.devices.definitions import NUMBER, metric_of
from tests.support.estimates.inverses import PRECISION, matrix, requested, uneven

CHANNELS: dict[str, Hierarchical] = {
    f"{points} points at {epsilon}": Hierarchical.within(requested(epsilon), points)
    for epsilon in ("0.5", "2", "6")
    for points in (2, 5, 13, 32)
}
BY_NAME = pytest.mark.parametrize("name", CHANNELS)
ROUNDING = 2.0**-30


@BY_NAME
def test_the_law_is_that_of_the_channel_for_one_population_or_many(name: str) -> None:
    channel = CHANNELS[name]
    law, table = hierarchical.law(channel), matrix(channel)
    exact = 64 * PRECISION * channel.symbols
    shares, scores = uneven(channel.inputs), uneven(channel.symbols)
    assert (
        np.abs(law.symbol_law(np.array([shares, shares[::-1]])) - [table @ shares, table @ shares[::-1]]).max() <= exact
    )
    assert np.abs(law.expectations(np.array([scores, -scores])) - [scores @ table, -scores @ table]).max() <= exact


@BY_NAME
def test_the_mean_is_unbiased_and_its_expected_squares_are_those_of_the_law(name: str) -> None:
    channel = CHANNELS[name]
    decoder, table = hierarchical.decoder(channel), matrix(channel)
    assert np.abs(decoder.scores @ table - np.linspace(0, 1, channel.inputs)).max() <= ROUNDING
    assert np.allclose(decoder.scores**2 @ table, decoder.squares, rtol=ROUNDING)


def uniform_variance(scores: Floats, table: Floats) -> float:
    law = table.mean(axis=1)
    return float(law @ scores**2 - (law @ scores) ** 2)


@BY_NAME
def test_of_an_even_population_no_other_unbiased_mean_has_less_noise(name: str) -> None:
    """Not that of one level, nor any that differs by scores that expect nothing of any answer."""
    channel = CHANNELS[name]
    scores, table = hierarchical.decoder(channel).scores, matrix(channel)
    least = uniform_variance(scores, table)
    last = channel.levels[-1]
    alone = np.zeros(channel.symbols)
    contrast = inverse_of(last.channel).contrast(np.linspace(0, 1, channel.inputs))
    alone[last.first :] = len(channel.levels) * contrast
    assert np.abs(alone @ table - np.linspace(0, 1, channel.inputs)).max() <= ROUNDING
    assert least <= uniform_variance(alone, table) * (1 + ROUNDING)
    _, _, directions = np.linalg.svd(table.T)
    for silent in directions[channel.inputs :]:
        for step in (-0.1, 0.1):
            assert least <= uniform_variance(scores + step * silent, table) * (1 + ROUNDING)


@BY_NAME
def test_the_least_variance_is_that_of_the_best_of_all_pairs_of_answers_with_that_mean(name: str) -> None:
    decoder = hierarchical.decoder(CHANNELS[name])
    squares = decoder.squares
    places = np.linspace(0, 1, squares.size)
    for mean in np.linspace(0, 1, 7):
        pairs = [
            low + (high - low) * (mean - start) / (end - start)
            for (start, low), (end, high) in combinations(zip(places, squares, strict=True), 2)
            if start <= mean <= end
        ]
        assert decoder.least_variance(np.array(mean)) == pytest.approx(min(pairs) - mean**2, rel=ROUNDING)


@pytest.mark.parametrize("mechanism", ["hierarchical", "laplace", "square-wave"])
def test_the_least_noise_is_no_more_than_that_of_any_pair_of_answers_with_that_mean(mechanism: str) -> None:
    metric = metric_of(NUMBER, statistic="distribution", epsilon=2, mechanism=mechanism)
    decoder = decoder_of(metric.channel)
    assert decoder is not None
    places = np.linspace(0, 1, decoder.squares.size)
    noises = decoder.squares - places**2
    corners = [0, places.size // 7, places.size // 3, places.size // 2, places.size - 1]
    for low, high in combinations(corners, 2):
        for part in (0.0, 0.3, 0.5, 1.0):
            mean, noise = ((1 - part) * ends[low] + part * ends[high] for ends in (places, noises))
            assert decoder.least_noise(float(mean)) <= noise * (1 + ROUNDING)


def test_the_planned_variance_of_a_mean_is_that_of_the_worst_pair_of_answers() -> None:
    metric = metric_of(NUMBER, statistic="quantiles", epsilon=2)
    squares = decoder_squares(metric.channel)
    places = np.linspace(0, 1, squares.size)
    parts = np.linspace(0, 1, 21)
    worst = max(
        float(np.max(part * squares[:, np.newaxis] + (1 - part) * squares - _squared(part, places)))
        for part in parts.tolist()
    )
    planned = analysis_of(metric).mean_variance
    assert planned is not None
    assert worst <= planned * (1 + ROUNDING)
    assert planned <= worst * 1.001


def decoder_squares(channel: Channel) -> Floats:
    assert isinstance(channel, Hierarchical)
    return hierarchical.decoder(channel).squares


def _squared(part: float, places: Floats) -> Floats:
    means: Floats = part * places[:, np.newaxis] + (1 - part) * places
    return means**2
