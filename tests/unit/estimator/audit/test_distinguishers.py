"""Scores that are learnt from a sample mean the same however far apart its values lie."""

from __future__ import annotations

import numpy as np

from estimator.audit.distinguishers import WIDEST_TABLE, Feature, ObservationTable, Rows, scores

SEEN = [1, 2, 5, 7]
UNSEEN = [-1, 0, 3, 6, 8, 20]
"""Values before, between and beyond those of the sample."""


def sample(scale: int) -> ObservationTable:
    features = tuple(Feature("symbol", window) for window in range(2))
    generator = np.random.default_rng(1)
    sides: list[Rows] = [scale * generator.choice(SEEN, (40, 2), p=p) for p in ((0.1, 0.2, 0.3, 0.4), (0.25,) * 4)]
    return ObservationTable(features, (True, True), sides[0], sides[1])


def test_values_far_apart_score_as_those_that_stand_in_a_table() -> None:
    rows = np.array([(first, second) for first in SEEN + UNSEEN for second in SEEN + UNSEEN])
    near, far = (list(scores(sample(scale))) for scale in (1, WIDEST_TABLE))
    of_near, of_far = (
        [score.evaluate(scale * rows) for score in each] for each, scale in ((near, 1), (far, WIDEST_TABLE))
    )
    np.testing.assert_array_equal(of_near, of_far)
    assert all(np.ptp(score) > 0 for score in of_near)
