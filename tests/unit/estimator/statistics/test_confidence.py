"""The tails of laws are their sums and limits, for as many reports as a tally may have."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from estimator.statistics.confidence import BISECTIONS, binomial_chance, binomial_tail, student_of, tail_of
from estimator.tallies import MOST_REPORTS
from tests.support.core.tables import for_each

PRECISION = float(np.finfo(float).eps)


def summed(count: int, reports: int, chance: float) -> float:
    """Return the probability of at least a count as an exact sum."""
    yes, no = Fraction(chance), 1 - Fraction(chance)
    return float(sum(comb(reports, k) * yes**k * no ** (reports - k) for k in range(count, reports + 1)))


@pytest.mark.long
@for_each("chance", [0.02, 0.3, 0.7])
@for_each("reports", [1, 2, 7, 30, 100])
def test_the_tail_of_few_reports_is_the_sum_of_all_its_terms(reports: int, chance: float) -> None:
    counts = np.arange(reports + 1)
    tails = binomial_tail(counts, reports, chance)
    # rounding a logarithm as large as that of the tail costs as many last places
    for count, tail in zip(counts.tolist(), tails.tolist(), strict=True):
        exact = summed(count, reports, chance)
        assert abs(tail / exact - 1) <= 2**8 * PRECISION * (1 + reports - math.log(exact))


@for_each("reports", [10**10, 10**13, MOST_REPORTS])
@for_each("deviation", [-3.0, 0.0, 1.5, 4.0])
def test_the_tail_of_many_rare_successes_is_that_of_poisson(reports: int, deviation: float) -> None:
    """Le Cam 1960: both laws differ by at most the expected number times the chance."""
    expected = 100.0
    count = int(expected + deviation * math.sqrt(expected))
    terms = [math.exp(k * math.log(expected) - expected - math.lgamma(k + 1)) for k in range(count)]
    difference = abs(float(binomial_tail(count, reports, expected / reports)) - (1 - math.fsum(terms)))
    assert difference <= expected**2 / reports + 2**10 * PRECISION


@for_each("reports", [10**7, 10**10, 10**13, MOST_REPORTS])
@for_each("chance", [0.0184, 0.35])
@for_each("deviation", [0.1, 1.5, 4.0, 8.0])
def test_the_tail_of_many_reports_is_nearly_normal(reports: int, chance: float, deviation: float) -> None:
    """Esseen 1956: both laws differ by at most .41 (p**2 + q**2) / root(n p q), q = 1 - p.

    In floats the expected number of 2**53 reports is off by a report or two.
    """
    error = math.sqrt(reports * chance * (1 - chance))
    count = int(reports * chance + deviation * error)
    z = float(count - reports * Fraction(chance)) / error
    difference = abs(float(binomial_tail(count, reports, chance)) - math.erfc(z / math.sqrt(2)) / 2)
    assert difference <= (0.41 * (chance**2 + (1 - chance) ** 2) + reports * PRECISION) / error


@for_each("tail", [0.025, 1e-5, 1e-12])
@for_each("reports", [10, 1000, 10**6, 10**9, 10**12, MOST_REPORTS])
def test_a_count_has_the_probability_of_the_tail_at_the_chance_found_for_it(reports: int, tail: float) -> None:
    """A little to either side it has a smaller and a larger one."""
    counts = np.array([count for count in (1, 3, 20, 1000, 10**5, reports // 3, reports - 1, reports) if count])
    counts = np.unique(counts[counts <= reports])
    found = binomial_chance(counts, reports, tail)
    around = 16 * PRECISION
    assert (binomial_tail(counts, reports, found * (1 - around)) <= tail).all()
    above = np.minimum(1.0, found * (1 + around) + 2.0**-BISECTIONS * counts / reports)
    assert (binomial_tail(counts, reports, above) >= tail).all()


def test_no_success_has_any_chance() -> None:
    assert binomial_chance(np.array([0]), 10, 0.025).tolist() == [0]


@pytest.mark.parametrize("family", [1, 100])
def test_students_quantiles_are_the_closed_forms_of_one_and_two_degrees_of_freedom(family: int) -> None:
    tail = tail_of(family)
    assert student_of(family, 1) == pytest.approx(1 / math.tan(math.pi * tail), rel=1e-12)
    assert student_of(family, 2) == pytest.approx((1 - 2 * tail) / math.sqrt(2 * tail * (1 - tail)), rel=1e-12)
