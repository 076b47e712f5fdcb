"""Windows of vectors together: rotations average out, and people do not.

Intervals hold at every truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import pytest

from client_sdk.protocol import Metric, Window
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from client_sdk.protocol.vector import UNIT
from estimator.analyses.metric import analysis_of, estimate
from estimator.analyses.vectors import sampled_tally
from estimator.decoders.rotated_axes import square_along, turned_back
from estimator.report.same_people import pooled
from estimator.results.estimate import Figures
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally
from tests.support.devices.definitions import VECTOR, metric_of
from tests.support.estimates.vectors import TRUTHS, encoded, small

WINDOWS, ROUNDS, PEOPLE = 4, 15, 1200
LEAST_COVERAGE = 0.93


def window(metric: Metric, vectors: Floats, people: Counts, at: int, generator: np.random.Generator) -> MetricEstimate:
    day = Window.parse(f"20{10 + at // 365}-{1 + at % 12:02}-{1 + at // 12 % 28:02}")
    channel = metric.channel.in_window(day.text)
    assert isinstance(channel, RotatedAxes)
    counts = sampled_tally(channel, vectors, people, generator)
    return estimate(metric, Tally("m", metric.edition, day, True, int(people.sum()), counts.tolist()))  # noqa: FBT003 closed


def together(metric: Metric, windows: list[MetricEstimate]) -> Figures:
    (pooled_estimate,) = pooled(windows, {"m": metric})
    coordinates = pooled_estimate.group("coordinate")
    assert coordinates is not None
    assert pooled_estimate.reports == sum(each.reports for each in windows)
    return coordinates.figures


def pooled_rounds(metric: Metric, truth: str, people: int, *, same: bool) -> Iterator[tuple[Figures, Floats]]:
    """Yield what windows together say, and the population's mean.

    People are drawn once a round, or in each window.
    """
    generator = np.random.default_rng(11)
    points, shares = TRUTHS[truth]
    vectors = encoded(metric, *(np.array(points) * 0.999999).tolist())
    mean = shares @ vectors[:, :4] / UNIT
    for at in range(ROUNDS):
        drawn = [generator.multinomial(people, shares) for _ in range(WINDOWS)]
        of_windows = [drawn[0] if same else each for each in drawn]
        windows = [
            window(metric, vectors, each, WINDOWS * at + place, generator) for place, each in enumerate(of_windows)
        ]
        yield together(metric, windows), mean


@pytest.mark.long
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(("truth", "epsilon"), [*zip(TRUTHS, [1, 6, 4, 6, 1, 6], strict=True)])
def test_pooled_intervals_hold_at_every_truth(truth: str, epsilon: int, *, same: bool) -> None:
    metric = small(metric_of(VECTOR, length=4, epsilon=epsilon))
    held = [
        (each.lows <= mean + 1e-9) & (mean - 1e-9 <= each.highs)
        for each, mean in pooled_rounds(metric, truth, PEOPLE, same=same)
    ]
    assert np.mean(held) > LEAST_COVERAGE - 3 * sqrt(0.05 * 0.95 / (4 * ROUNDS))


def test_the_error_of_the_rotations_averages_over_windows() -> None:
    metric = small(metric_of(VECTOR, length=4, epsilon=4))
    generator, many = np.random.default_rng(12), np.array([10**6])
    vector = encoded(metric, [0.999, 0, 0, 0])
    windows = [window(metric, vector, many, at, generator) for at in range(16)]
    alone, pooled_one = windows[0].figures("coordinate"), together(metric, windows)
    assert len(alone)
    assert np.linalg.norm(pooled_one.standard_errors) < np.linalg.norm(alone.standard_errors) / 3
    assert np.abs(pooled_one.unbiased - vector[0, :4] / UNIT).max() < 4 * pooled_one.standard_errors.max()


def test_the_choice_of_people_does_not_average_over_windows() -> None:
    """Half at one end, half at the other.

    The error of the sample is 1 / sqrt(n), however many windows there are.
    """
    metric = small(metric_of(VECTOR, length=4, epsilon=6))
    errors = [each.standard_errors[0] for each, _ in pooled_rounds(metric, "opposite halves", PEOPLE, same=True)]
    assert np.median(errors) > 0.9 / sqrt(PEOPLE)


def test_fewer_than_fifty_reports_together_allow_everything() -> None:
    metric = small(metric_of(VECTOR, length=4, norm=2))
    generator, vector = np.random.default_rng(13), encoded(metric, [0.5, 0, 0, 0])
    windows = [window(metric, vector, np.array([20]), at, generator) for at in range(2)]
    assert np.array_equal(together(metric, windows).lows, np.full(4, -2.0))
    assert np.array_equal(together(metric, windows).highs, np.full(4, 2.0))


@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_the_least_noise_is_below_that_of_any_coordinate_of_reports(epsilon: int) -> None:
    metric = metric_of(VECTOR, length=4, epsilon=epsilon, norm=3)
    channel = metric.channel.in_window("2026-11-23")
    assert isinstance(channel, RotatedAxes)
    generator, reports = np.random.default_rng(14), 8000
    vectors = encoded(metric, [0.999999, 0, 0, 0])
    counts = sampled_tally(channel, vectors, np.array([reports]), generator).reshape(channel.rotations, -1, 2)
    rotations, axes, sides = np.nonzero(counts)
    directions = np.zeros((len(axes), channel.dimension))
    directions[np.arange(len(axes)), axes] = np.where(sides == 0, 1.0, -1.0)
    turned = turned_back(channel, directions, rotations)
    weights = counts[rotations, axes, sides]
    along = np.average(turned[:, 0] ** 2, weights=weights)
    assert along == pytest.approx(square_along(channel), rel=0.08)
    gained = np.average(turned[:, 0], weights=weights)
    variances = 9 * (np.average(turned[:, :2] ** 2, axis=0, weights=weights) / gained**2 - [1, 0])
    assert analysis_of(metric).least_noise < 1.1 * variances.min()


def test_a_window_of_few_reports_makes_no_interval_of_all_windows_much_longer() -> None:
    metric, generator = small(metric_of(VECTOR, length=4, epsilon=4)), np.random.default_rng(1)
    vectors = encoded(metric, [0.5, -0.3, 0, 0])
    sizes = [1200, 1200, 1200, 20]
    windows = [window(metric, vectors, np.array([size]), at, generator) for at, size in enumerate(sizes)]
    whole, without = together(metric, windows), together(metric, windows[:3])
    assert ((whole.highs - whole.lows) < 1.2 * (without.highs - without.lows)).all()
