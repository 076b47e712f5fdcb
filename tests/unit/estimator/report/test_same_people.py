"""How far errors may be opposed: no joint law of two answers goes below it, and one reaches it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol import Metric
from estimator.report.changes import SamePeople
from estimator.results.estimate import Estimate
from estimator.results.statistic import STATISTICS
from estimator.statistics.arrays import Floats
from tests.support.devices.definitions import BOOLEAN, NUMBER, metric_of

MEAN = STATISTICS["mean"]
SHARES = (0.0, 0.02, 0.3, 0.5, 0.9, 1.0)


def figure(estimate: float, error: float = 0.1) -> Estimate:
    return Estimate(estimate, error, 0.0, 1.0, None)


def opposition(metric: Metric, first: Estimate, last: Estimate, *reports: int) -> float:
    return SamePeople(metric, (reports[0], reports[-1])).opposition(STATISTICS["share"], first, last, (0.0, 1.0))


@pytest.mark.parametrize(("first", "last"), [*product(SHARES, repeat=2)])
def test_of_all_ways_to_answer_again_the_most_opposed_one_decides(first: float, last: float) -> None:
    both = np.linspace(max(0.0, first + last - 1), min(first, last), 101)  # who says yes in both
    most = max(-(yes - first * last) for yes in both.tolist())
    assert opposition(metric_of(BOOLEAN), figure(first), figure(last), 1) == pytest.approx(most, abs=1e-15)


def test_people_are_opposed_at_most_as_far_as_the_larger_window_has_them() -> None:
    """Everybody of the smaller window answers the other way round in the larger."""
    metric, half = metric_of(BOOLEAN), figure(0.5)
    assert opposition(metric, half, half, 50, 200) == opposition(metric, half, half, 200, 50) == 0.25 / 200


def test_a_share_outside_its_range_counts_as_its_end() -> None:
    assert opposition(metric_of(BOOLEAN), figure(-0.2), figure(0.6), 100) == 0.0
    assert opposition(metric_of(BOOLEAN), figure(1.3), figure(0.6), 100) == 0.0


def most_opposed(answers: Floats) -> float:
    """Return minus the covariance where the highest answers become the lowest."""
    rising = np.sort(answers)
    return float(-np.mean((rising - rising.mean()) * (rising[::-1] - rising.mean())))


@pytest.mark.parametrize("answers", [np.full(10, 0.4), np.linspace(0, 1, 10), np.repeat([0.0, 1.0], 5)])
def test_answers_to_a_mean_are_opposed_no_further_than_they_vary(answers: Floats) -> None:
    """The error is that of these answers and the mechanism's noise."""
    metric = metric_of(NUMBER, mechanism="optimal-mean", epsilon=8, low=-1, high=3)
    reports = 400
    alike = SamePeople(metric, (1, 1)).opposition(MEAN, figure(0.6, 0.0), figure(0.6, 0.0), (-1, 3))
    assert alike == 0.0
    noise = 0.0017  # per report, on a scale from 0 to 1: a little more than the least
    error = 4 * math.sqrt((answers.var() + noise) / reports)
    mean = figure(-1 + 4 * float(answers.mean()), error)
    opposed = SamePeople(metric, (reports, reports)).opposition(MEAN, mean, mean, (-1, 3)) * reports / 16
    assert most_opposed(answers) <= opposed <= most_opposed(answers) + 0.001
