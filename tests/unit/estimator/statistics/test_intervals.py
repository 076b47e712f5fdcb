"""Intervals by betting hold at every law, summed over all tallies, and use what they may know."""

from __future__ import annotations

import numpy as np

from estimator.statistics.confidence import tail_of
from estimator.statistics.intervals import betting_intervals
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import chances, compositions, exact_coverage

NUMBERS = np.array([-0.25, 0.5, 1.0])
"""All possible ones: uneven, and one below 0."""

ROUNDED = 2.0**-40
"""Truths at the ends of the range are sums of floats."""


@for_each("family", [1, 10])
@for_each("draws", [1, 2, 10, 40])
def test_every_law_is_held_as_often_as_promised(draws: int, family: int) -> None:
    """Summed over every tally of three numbers, at laws in steps of .05, and near the corners."""
    tallies = compositions(draws, NUMBERS.size)
    rare = [np.roll([1 - part, part, 0], turn) for part in (1 / draws, 0.02) for turn in range(3)]
    laws = np.concatenate([compositions(20, NUMBERS.size) / 20, rare])
    lows, highs = betting_intervals(NUMBERS, tallies, family).T
    with np.errstate(divide="ignore", invalid="ignore"):
        likely = chances(tallies, np.maximum(laws, 1e-300))
    coverage = exact_coverage(lows - ROUNDED, highs + ROUNDED, laws @ NUMBERS, likely)
    assert coverage.min() >= 1 - 2 * tail_of(family)


def test_an_interval_holds_the_drawn_mean_and_stays_within_the_possible_numbers() -> None:
    tallies = compositions(12, NUMBERS.size)
    lows, highs = betting_intervals(NUMBERS, tallies).T
    means = tallies @ NUMBERS / 12
    assert (lows <= means + ROUNDED).all()
    assert (means <= highs + ROUNDED).all()
    assert (lows >= NUMBERS.min()).all()
    assert (highs <= NUMBERS.max()).all()


def test_numbers_that_were_not_drawn_remain_possible() -> None:
    """Of 50 numbers alike, 3.69 / 50 may lie at the other end.

    With that share 2.5% of all tallies lack it.
    """
    ((_, high),) = betting_intervals(np.array([0.0, 1.0]), np.array([[50, 0]]))
    assert high > 1 - 0.025 ** (1 / 50)


def test_an_interval_of_numbers_that_scatter_little_is_narrow() -> None:
    wide, narrow = (
        betting_intervals(np.array([0.0, 0.45, 0.55, 1.0]), np.array([counts]))[0]
        for counts in ([500, 0, 0, 500], [0, 500, 500, 0])
    )
    assert np.ptp(narrow) < np.ptp(wide) / 5
