"""A binomial law's tail is its sum, and agrees with the quantiles of beta laws that others take."""

from __future__ import annotations

from math import comb

import pytest
from scipy.special import betainc

from estimator.statistics.binomial_tails import upper_tail


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.7])
def test_the_tail_of_few_reports_is_the_sum_of_all_its_terms(chance: float) -> None:
    for reports in (1, 2, 7, 30):
        for count in range(int(reports * chance) + 1, reports + 1):
            terms = (comb(reports, k) * chance**k * (1 - chance) ** (reports - k) for k in range(count, reports + 1))
            assert upper_tail(count, reports, chance) == pytest.approx(sum(terms), rel=1e-12)


@pytest.mark.parametrize("reports", [10**3, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("chance", [0.0184, 0.35])
@pytest.mark.parametrize("deviation", [0.1, 2.0, 4.0, 8.0])
def test_the_tail_of_many_reports_agrees_with_scipy(reports: int, chance: float, deviation: float) -> None:
    count = int(reports * chance + deviation * (reports * chance * (1 - chance)) ** 0.5) + 1
    wrong = max(1e-9, 1e-13 * reports)
    assert upper_tail(count, reports, chance) == pytest.approx(betainc(count, reports - count + 1, chance), rel=wrong)
