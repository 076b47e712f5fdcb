"""How often figures hold their truth: each figure, each statistic, and the band as a whole."""

from __future__ import annotations

import pytest

from estimator.rehearsal.population import compared, coverages_of, held, holds
from estimator.results.estimate import Figure, Figures
from estimator.results.group import FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate

VARIANCE = Figure(1.0, None, 0.5, 2.0)
BAND = (Figure(0.1, None, 0.0, 0.2, value=1.0), Figure(0.5, None, 0.4, 0.6, value=2.0))
POINTS = FigureKey("at_most", 1.0), FigureKey("at_most", 2.0)
ESTIMATED = MetricEstimate(
    metric="m",
    title="m",
    edition="0" * 12,
    kind="number",
    mechanism="square-wave",
    epsilon=1.0,
    delta=0.0,
    window="2026-11-20",
    closed=True,
    reports=1000,
    groups=(FigureGroup("variance", Figures.from_rows([VARIANCE])), FigureGroup("at_most", Figures.from_rows(BAND))),
)


@pytest.mark.parametrize(("truth", "is_held"), [(0.4, True), (0.6, True), (0.39, False), (0.61, False)])
def test_an_interval_holds_its_ends(truth: float, is_held: bool) -> None:  # noqa: FBT001 a parameter
    assert holds(BAND[1], truth) == is_held


@pytest.mark.parametrize(
    ("truths", "points", "whole"), [((0.1, 0.5), 1, 1), ((0.1, 0.7), 0.5, 0), ((0.3, 0.5), 0.5, 0), ((0.3, 0.7), 0, 0)]
)
def test_the_band_holds_only_if_all_its_points_do(truths: tuple[float, float], points: float, whole: float) -> None:
    fractions = held(ESTIMATED, {FigureKey("variance"): 3.0} | dict(zip(POINTS, truths, strict=True)))
    assert fractions == {"variance": 0, "at_most": points, "band": whole}


def test_figure_and_truth_meet_by_key_whatever_their_order() -> None:
    truths = {POINTS[1]: 0.5, FigureKey("variance"): 1.0, POINTS[0]: 0.1}
    pairs = {key: (figure, truth) for key, figure, truth in compared(ESTIMATED, truths)}
    assert pairs == {FigureKey("variance"): (VARIANCE, 1.0), POINTS[0]: (BAND[0], 0.1), POINTS[1]: (BAND[1], 0.5)}


def test_coverage_is_the_mean_over_rounds() -> None:
    (coverage,) = coverages_of([{"bin": 1.0}, {"bin": 0.5}], [{"bin": 1.0}] * 2).values()
    assert (coverage.rounds, coverage.population, coverage.noise_alone) == (2, 0.75, 1)
    assert coverages_of([], []) == {}


def test_a_figure_without_devices_has_no_truth() -> None:
    assert [*compared(ESTIMATED, {})] == []
