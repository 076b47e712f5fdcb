"""The mean of vectors is unbiased, up to three rounds of signs.

Its intervals hold whatever the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isclose, sqrt

import numpy as np
import pytest

from client_sdk.protocol import Window
from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes, offsets, rotated, shifted
from client_sdk.protocol.vector import UNIT, Ball, lifted
from estimator.analyses.metric import analysis_of
from estimator.analyses.vectors import Vectors, largest, linear_estimate, sampled_tally
from estimator.decoders.rotated_axes import (
    block_reports,
    block_sums,
    gain,
    gain_of,
    hadamard,
    largest_sum,
    offsets_of,
    turned_back,
)
from estimator.errors import RequestError
from estimator.results.report import Request
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, VECTOR, metric_of
from tests.support.estimates.vectors import TRUTHS, encoded, small
from tests.support.laws.bands import request

DAY = "2026-11-23"
Ranking = Callable[[Sequence[int], int, str], list[int]]
LEAST_COVERAGE = 0.93


def test_transforms_of_many_vectors_are_those_of_one() -> None:
    channel = RotatedAxes.within(request("1"), 64, 5, 7).in_window(DAY)
    vectors = np.random.default_rng(1).integers(-1000, 1000, (5, 64))
    turned = np.array([rotated(vector, at, DAY) for at, vector in enumerate(vectors.tolist())]) / 64**1.5
    assert np.allclose(turned_back(channel, turned, np.arange(5)), vectors)
    assert np.array_equal(hadamard(hadamard(vectors.astype(float))), 64.0 * vectors)
    assert offsets_of(channel, np.array([3, 1])).tolist() == [offsets(64, at, DAY) for at in (3, 1)]


@pytest.mark.parametrize("shape", [[UNIT], [UNIT // 2, UNIT // 2, -UNIT // 3], [UNIT // 8] * 63])
def test_the_expected_tally_gives_the_vector_back_up_to_the_rotations(shape: list[int]) -> None:
    """Exactly: the sum over symbols of P(symbol | x) times its estimate, against x."""
    channel, vector = RotatedAxes.within(request("2"), 64, 512, 14).in_window(DAY), lifted(shape, 64)
    keep = channel.keep_numerator / COIN_SCALE
    expected = np.full((512, 128), (1 - keep) / (128 - 14))
    for at, law in enumerate(expected):
        law[channel.favoured_axes(shifted(vector, at, DAY))] = keep / 14
    mean = block_sums(channel, expected.reshape(-1) / 512).sum(axis=0) / gain_of(channel)
    excess = 14 / largest_sum(64, 14) ** 2 - 1
    assert np.allclose(mean, np.array(vector) / UNIT, atol=5 * sqrt(excess / 512 / 64))


@pytest.mark.parametrize(("dimension", "favoured"), [(8, 1), (8, 3), (128, 17), (1024, 6), (64, 64)])
def test_the_gain_is_that_of_random_directions(dimension: int, favoured: int) -> None:
    normal = np.abs(np.random.default_rng(2).normal(size=(4000, dimension)))
    directions = np.sort(normal / np.linalg.norm(normal, axis=1, keepdims=True), axis=1)
    sums = directions[:, -favoured:].sum(axis=1)
    keep = 0.75
    drawn = sums * (keep / favoured - (1 - keep) / (2 * dimension - favoured))
    known = gain(dimension, favoured, 3 * 2**62)
    assert abs(known - drawn.mean()) < 4 * drawn.std() / sqrt(len(drawn)) + 1e-9


@pytest.mark.parametrize("reports", [1, 2, 49, 50])
def test_few_reports_of_opposite_vectors_say_nothing_of_their_mean(reports: int) -> None:
    metric = metric_of(VECTOR, epsilon=20)
    channel = metric.channel.in_window(DAY)
    assert isinstance(channel, RotatedAxes)
    vectors, held = encoded(metric, [1, 0, 0], [-1, 0, 0]), []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        counts = sampled_tally(channel, vectors, generator.multinomial(reports, [0.5, 0.5]), generator)
        symbols = np.flatnonzero(counts)
        listed = (counts[symbols].tolist(), symbols.tolist())
        tally = Tally("m", metric.edition, Window.parse(DAY), True, reports, *listed)  # noqa: FBT003 closed
        (estimated,) = analysis_of(metric).estimates([tally], Request())
        first, linear = estimated.figures("coordinate")[0], linear_estimate(metric, tally, [1.0, 0.0, 0.0])
        assert ((first.low, first.high) == (-1, 1)) == ((linear.low, linear.high) == (-1, 1)) == (reports < 50)
        held.append(first.low <= 0 <= first.high)
    assert sum(held) >= 15


@pytest.mark.parametrize("copies", [1, 200_000])
def test_the_sampler_obeys_the_law_of_devices_together_and_one_by_one(copies: int) -> None:
    channel = RotatedAxes.within(request("1"), 8, 2, 3).in_window(DAY)
    vector = lifted([UNIT // 2, -UNIT // 5, 9], 8)
    devices = 200_000
    vectors, counts = np.array([vector] * copies, float), np.full(copies, devices // copies)
    tally = sampled_tally(channel, vectors, counts, np.random.default_rng(3))
    law = np.array([float(channel.probability(symbol, vector)) for symbol in range(channel.symbols)])
    assert ((tally - devices * law) ** 2 / (devices * law)).sum() < 70  # chi-square of 31 d.f.: 1 in 15,000


@for_each("number", [1, 6, 63, 64])
def test_the_largest_coordinates_are_the_first_of_all_sorted_ones(number: int) -> None:
    generator = np.random.default_rng(9)
    for turned in (generator.normal(size=(50, 64)), np.rint(generator.normal(size=(50, 64)))):
        sorted_out = np.argsort(-np.abs(turned), axis=1, kind="stable")
        assert (largest(turned, number) == sorted_out[:, :number]).all()


def test_blocks_hold_every_report_once() -> None:
    channel = RotatedAxes.within(request("1"), 8, 256, 3).in_window(DAY)
    counts = np.random.default_rng(4).integers(0, 4, channel.symbols)
    assert block_reports(channel, counts).sum() == counts.sum()
    by_rotation = counts.reshape(256, 16).sum(axis=1)
    assert block_reports(channel, counts)[5] == by_rotation[5] + by_rotation[5 + 128]


REPETITIONS = 40
WEIGHTS = np.array([[1, 1, 1, 1], [0.5, -2, 0, 1], [0, 1, 0, 0]], float)


@pytest.mark.long
@for_each("truth", TRUTHS)
@for_each("epsilon", [1, 6])
def test_intervals_of_coordinates_and_linear_functions_hold_at_every_truth(truth: str, epsilon: int) -> None:
    metric = small(metric_of(VECTOR, length=4, epsilon=epsilon))
    points, shares = TRUTHS[truth]
    vectors, devices = encoded(metric, *(np.array(points) * 0.999999).tolist()), np.round(1200 * np.array(shares))
    mean = devices @ vectors[:, :4] / devices.sum() / UNIT
    generator, held = np.random.default_rng(5), []
    for repetition in range(REPETITIONS):
        day = Window.parse(f"2026-{1 + repetition % 12:02}-{1 + repetition // 12:02}")
        channel = metric.channel.in_window(day.text)
        assert isinstance(channel, RotatedAxes)
        tally = sampled_tally(channel, vectors, devices.astype(int), generator)
        reported = Tally("m", metric.edition, day, closed=True, reports=int(devices.sum()), counts=tally.tolist())
        estimated = Vectors[Ball](metric).mean(reported)
        coordinates = estimated.shares()
        held += [*(coordinates.lows <= mean + 1e-9), *(coordinates.highs >= mean - 1e-9)]
        for weights in WEIGHTS:
            linear = estimated.linear(weights)
            held += [linear.low <= weights @ mean <= linear.high] * 2
    missed = 2 * (len(held) - sum(held)) / len(held)
    cells = REPETITIONS * (4 + len(WEIGHTS))
    assert 1 - missed > LEAST_COVERAGE - 3 * sqrt(0.05 * 0.95 / cells)


def test_a_linear_function_of_one_coordinate_is_that_coordinate() -> None:
    metric = small(metric_of(VECTOR, epsilon=4, norm=3))
    assert isinstance(metric.channel, RotatedAxes)
    counts = np.random.default_rng(6).integers(0, 3, metric.channel.symbols)
    tally = Tally("m", metric.edition, Window.parse(DAY), True, int(counts.sum()), counts.tolist())  # noqa: FBT003 closed
    coordinates = Vectors[Ball](metric).mean(tally).shares()
    for at in range(3):
        linear, coordinate = linear_estimate(metric, tally, np.eye(3)[at].tolist()), coordinates[at]
        for figure in ("estimate", "standard_error", "low", "high"):
            assert isclose(getattr(linear, figure), getattr(coordinate, figure))


def test_a_tally_of_one_report_is_estimated_with_the_error_of_the_mechanism() -> None:
    metric = small(metric_of(VECTOR, epsilon=8))
    tally = Tally("m", metric.edition, Window.parse(DAY), True, 1, [1], [77])  # noqa: FBT003 closed
    estimated = Vectors[Ball](metric).mean(tally)
    assert np.allclose(estimated.shares().standard_errors, Vectors[Ball](metric).noise)
    assert 0 < np.linalg.norm(estimated.coordinates) <= 1 / gain_of(metric.channel)  # type: ignore[arg-type] # of vectors


def test_what_is_no_vector_of_the_length_has_no_linear_function() -> None:
    metric = metric_of(VECTOR)
    nothing = Tally("m", metric.edition, Window.parse(DAY), True, 0, [], [])  # noqa: FBT003 closed
    with pytest.raises(RequestError, match="is not a vector of 2 numbers"):
        linear_estimate(metric, nothing, [1, 2])
    with pytest.raises(RequestError, match="nobody has reported m in 2026-11-23"):
        linear_estimate(metric, nothing, [1, 2, 3])


def test_the_error_by_rotations_is_that_of_equal_vectors() -> None:
    metric = small(metric_of(VECTOR, epsilon=4))
    channel, vector = metric.channel, lifted([UNIT - 1], 64)
    assert isinstance(channel, RotatedAxes)
    favoured, squares = channel.favoured, []
    for day in range(20):
        in_day = channel.in_window(str(day))
        expected = np.zeros((channel.rotations, 128))
        for at, law in enumerate(expected):
            law[in_day.favoured_axes(shifted(vector, at, str(day)))] = 1 / largest_sum(64, favoured)
        mean = block_sums(in_day, expected.reshape(-1) / channel.rotations).sum(axis=0)
        squares.append(((mean - np.array(vector) / UNIT)[:3] ** 2).sum())
    assert analysis_of(metric).rotation_error == pytest.approx(sqrt(np.mean(squares)), rel=0.5)
    assert analysis_of(metric_of(BOOLEAN)).rotation_error is None


@pytest.mark.parametrize("rank", [shifted, rotated])
def test_a_tiny_coordinate_beside_a_large_one_is_not_magnified_thanks_to_offsets(rank: Ranking) -> None:
    channel, vector = RotatedAxes.within(request("4"), 128, 400, 17).in_window(DAY), (UNIT, 1000, *[0] * 126)
    expected = np.zeros((400, 256))
    for at, law in enumerate(expected):
        law[channel.favoured_axes(rank(vector, at, DAY))] = 1 / largest_sum(128, 17)
    of_rotations = expected.reshape(400, 128, 2) @ np.array([1.0, -1.0])
    estimates = turned_back(channel, of_rotations, np.arange(400))[:, 1]
    bias, error = estimates.mean() - 1000 / UNIT, estimates.std() / sqrt(400)
    assert (abs(bias) < 4 * error) == (rank is shifted)


def test_made_up_reports_move_the_mean_no_further_than_is_said() -> None:
    """They all point one way, by the best axis of each rotation."""
    metric = small(metric_of(VECTOR, length=4, epsilon=2, norm=3))
    channel = metric.channel.in_window(DAY)
    assert isinstance(channel, RotatedAxes)
    honest = sampled_tally(channel, encoded(metric, [-0.9, 0, 0, 0]), np.array([1800]), np.random.default_rng(8))
    worst = [max(channel.favoured_axes(turned), key=lambda axis: abs(turned[axis // 2])) for turned in axes_along_e0()]
    fakes = honest.copy()
    fakes[[at * 128 + axis for at, axis in enumerate(worst)]] += 200 // 128 + 1
    reports = int(fakes.sum())
    with_fakes = Tally("m", metric.edition, Window.parse(DAY), True, reports, fakes.tolist())  # noqa: FBT003 closed
    (estimated,) = analysis_of(metric).estimates([with_fakes], Request(fakes=1 - 1800 / reports))
    without = Tally("m", metric.edition, Window.parse(DAY), True, 1800, honest.tolist())  # noqa: FBT003 closed
    assert estimated.fakes is not None
    (said,) = estimated.fakes.moves
    assert said.statistic == "coordinate"
    moved = np.linalg.norm(estimated.figures("coordinate").unbiased - Vectors[Ball](metric).mean(without).coordinates)
    assert 0.15 * said.up < moved <= said.up


def test_one_report_moves_the_mean_by_the_norm_over_reports_and_gain_at_most() -> None:
    metric = small(metric_of(VECTOR, length=4, epsilon=2, norm=3))
    for symbol in range(0, metric.channel.symbols, 997):
        report = Tally("m", metric.edition, Window.parse(DAY), True, 1, [1], [symbol])  # noqa: FBT003 closed
        assert np.linalg.norm(Vectors[Ball](metric).mean(report).coordinates) <= 3 / gain_of(metric.channel) + 1e-9  # type: ignore[arg-type] # of vectors


def axes_along_e0() -> list[list[int]]:
    return [rotated((UNIT, *[0] * 63), rotation, DAY) for rotation in range(128)]
