"""How often figures hold their truth: each figure, each kind, and the band as a whole."""

from __future__ import annotations

import pytest

from estimator.rehearsal.compared import FigureKind, coverages_of, held, holds, pairs_of
from estimator.results.distribution import AtMost, Figure

BAND = (AtMost(0.1, 0.0, 0.2, at=1), AtMost(0.5, 0.4, 0.6, at=2))
FIGURES = {FigureKind.VARIANCE: (Figure(1.0, 0.5, 2.0),), FigureKind.BAND_POINTS: BAND, FigureKind.RANGES: ()}


@pytest.mark.parametrize(("truth", "is_held"), [(0.4, True), (0.6, True), (0.39, False), (0.61, False)])
def test_an_interval_holds_its_ends(truth: float, is_held: bool) -> None:  # noqa: FBT001 a parameter
    assert holds(BAND[1], truth) == is_held


@pytest.mark.parametrize(
    ("truths", "points", "whole"), [((0.1, 0.5), 1, 1), ((0.1, 0.7), 0.5, 0), ((0.3, 0.5), 0.5, 0), ((0.3, 0.7), 0, 0)]
)
def test_the_band_holds_only_if_all_its_points_do(truths: tuple[float, float], points: float, whole: float) -> None:
    fractions = held(FIGURES, {FigureKind.VARIANCE: (3.0,), FigureKind.BAND_POINTS: truths, FigureKind.RANGES: ()})
    assert fractions == {FigureKind.VARIANCE: 0, FigureKind.BAND_POINTS: points, FigureKind.BAND: whole}


def test_coverage_is_the_mean_over_rounds() -> None:
    (coverage,) = coverages_of([{FigureKind.BINS: 1.0}, {FigureKind.BINS: 0.5}], [{FigureKind.BINS: 1.0}] * 2).values()
    assert (coverage.rounds, coverage.population, coverage.noise_alone) == (2, 0.75, 1)
    assert coverages_of([], []) == {}


def test_a_figure_without_devices_has_no_truth() -> None:
    assert [truth for _, truth in pairs_of(FIGURES, {})] == [None, None, None]
