"""The truth about weighted numbers, against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from estimator.rehearsal.population import WeightedNumbers

ANSWERS = WeightedNumbers.from_values([8, 0, 3, 1], np.array([60, 10, 10, 20]))


def test_the_variance_is_that_of_the_answers() -> None:
    assert ANSWERS.variance == pytest.approx((0 + 1 + 1 + 9 + 6 * 64) / 10 - 5.3**2)


def test_a_quantile_is_the_least_answer_that_a_part_does_not_exceed() -> None:
    assert ANSWERS.quantiles([0.05, 0.1, 0.25, 0.5, 1]) == [0, 0, 1, 8, 8]


def test_a_part_that_is_reached_exactly_is_reached() -> None:
    """A sum of 0.7, 0.2 and 0.1 is below one by a rounding error."""
    for devices in range(1, 200):
        tenths = WeightedNumbers.from_values([1, 2, 3], np.array([0.7, 0.2, 0.1]) / devices)
        assert tenths.quantiles([0.7, 0.9, 1]) == [1, 2, 3]


def test_the_distribution_function_counts_equal_answers() -> None:
    assert ANSWERS.at_most([-1, 0, 2, 3, 8]) == [0, 0.1, 0.3, 0.4, 1]


def test_the_share_of_all_is_one_whatever_the_weights() -> None:
    weights = np.random.default_rng(1).dirichlet(np.ones(1000))
    assert WeightedNumbers.from_values(list(range(1000)), weights).at_most([999]) == [1]


def test_bins_share_no_answer() -> None:
    assert ANSWERS.bins([0, 1, 4]) == [0.1, 0.3, 0.6]


def test_a_range_holds_both_ends() -> None:
    assert ANSWERS.ranges([(0, 1), (1, 3), (2, 2), (3, 8)]) == [pytest.approx(0.3), 0.3, 0, 0.7]
