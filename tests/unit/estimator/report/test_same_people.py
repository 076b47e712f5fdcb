"""How far errors may be opposed: no joint law of two answers goes below it, and one reaches it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace

from client_sdk.protocol import Metric, Window
from estimator.analyses.metric import estimate
from estimator.report.same_people import Windows, windows_of
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import FigureGroup
from estimator.statistics.arrays import Floats
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.devices.definitions import NUMBER, metric_of

SHARES = (0.0, 0.02, 0.3, 0.5, 0.9, 1.0)
DIFFERENCE = np.array([[-1.0, 1.0]])
ROUNDED = 16 * np.finfo(float).eps


def opposition(windows: Windows) -> float:
    """Return how far the covariance of the errors of two windows is taken to lie below 0."""
    ((error,),) = windows.weighted(DIFFERENCE).errors
    return float(error**2 - (windows.fresh**2).sum() - (windows.lasting**2).sum()) / 2


def of_shares(first: float, last: float, *reports: int, lasting: float = 1.0) -> float:
    shares, ones, none = np.array([[first], [last]]), np.ones((2, 1)), np.zeros((2, 1))
    of_each = np.array([[reports[0]], [reports[-1]]], dtype=float)
    return opposition(Windows(of_each, shares, none, none, lasting * ones, ones, ones, (shares, 1 - shares), 1.0))


@for_each("first, last", [*product(SHARES, repeat=2)])
def test_of_all_ways_to_answer_again_the_most_opposed_one_decides(first: float, last: float) -> None:
    both = np.linspace(max(0.0, first + last - 1), min(first, last), 101)  # who says yes in both
    most = max(-(yes - first * last) for yes in both.tolist())
    assert of_shares(first, last, 1) == pytest.approx(most, abs=ROUNDED)


def test_people_are_opposed_at_most_as_far_as_the_larger_window_has_them_and_as_their_errors_last() -> None:
    """Everybody of the smaller window answers the other way round in the larger."""
    for reports in ((50, 200), (200, 50)):
        assert of_shares(0.5, 0.5, *reports) == pytest.approx(0.25 / 200, abs=ROUNDED)
    assert of_shares(0.5, 0.5, 1, lasting=0.1) == pytest.approx(0.01, abs=ROUNDED)


def windows_of_means(metric: Metric, mean: float, error: float, reports: int) -> Windows:
    symbols = metric.channel.symbols
    counts = (1,) * symbols
    tally = Tally(metric.name, metric.edition, Window.parse("2026-11-20"), True, symbols, counts)  # noqa: FBT003 closed
    figures = Figures.from_rows([Estimate(mean, error, -1.0, 3.0).labeled()])
    window = replace(estimate(metric, tally), reports=reports, groups=(FigureGroup("mean", figures, "", (-1.0, 3.0)),))
    return windows_of([window, window], "mean", metric)


def most_opposed(answers: Floats) -> float:
    """Return minus the covariance where the highest answers become the lowest."""
    rising = np.sort(answers)
    return float(-np.mean((rising - rising.mean()) * (rising[::-1] - rising.mean())))


@pytest.mark.parametrize("answers", [np.full(10, 0.4), np.linspace(0, 1, 10), np.repeat([0.0, 1.0], 5)])
def test_answers_to_a_mean_are_opposed_no_further_than_they_vary(answers: Floats) -> None:
    """The error is that of these answers and the mechanism's noise."""
    metric = metric_of(NUMBER, mechanism="optimal-mean", epsilon=8, low=-1, high=3)
    noise, reports = 0.0017, 10_000  # of a report, on a scale from 0 to 1: a little more than the least
    error = 4 * math.sqrt((answers.var() + noise) / reports)
    opposed = opposition(windows_of_means(metric, -1 + 4 * float(answers.mean()), error, reports)) * reports / 16
    assert most_opposed(answers) - ROUNDED <= opposed <= most_opposed(answers) + 0.001
