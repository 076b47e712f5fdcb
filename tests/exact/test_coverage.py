"""How often an interval holds the truth: summed over the binomial law, never simulated."""

from __future__ import annotations

import numpy as np
import pytest

from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.inversions import inverse_of
from estimator.decoders.support import Support
from estimator.statistics.intervals import binomial_interval, binomial_intervals
from tests.support.core.tables import for_each
from tests.support.estimates.checks import check_coverage, mean_coverage, worst_coverage
from tests.support.mutants import estimators

FEW_REPORTS = range(1, 50)
MANY_REPORTS = [*range(50, 80), *range(80, 200, 7), 317, 1000, 10_000]
AVERAGED = (50, 64, 100, 317, 1000)

TOO_WIDE = {(31, 0.5, 50), (31, 0.5, 64), (31, 0.5, 100), (31, 1, 50), (31, 1, 64)}
"""(k, epsilon, reports): all expected counts are within one or two of each other.

So the average is over one tooth of the saw that coverage is. The intervals are on the safe side
there.
"""


def _support(inputs: int, epsilon: object) -> Support:
    requested = RequestedEpsilon.parse(epsilon)
    values = tuple(str(index) for index in range(inputs))
    domain, name = (
        (Boolean(), "randomized-response") if inputs == 2 else (Category(values), "k-ary-randomized-response")
    )
    inverse = inverse_of(channel_for(domain, requested, name))
    assert isinstance(inverse, Support)
    return inverse


CHANNELS = [(2, "ln 3"), *((k, epsilon) for k in (2, 3, 4, 5, 8, 16, 31) for epsilon in (0.5, 1, 2, 3, 4))]


@for_each("reports", FEW_REPORTS)
def test_few_reports_are_covered_at_every_truth_as_promised(reports: int) -> None:
    check_coverage(binomial_interval, reports)


@for_each("reports", MANY_REPORTS)
def test_many_reports_are_covered_at_every_truth_almost_as_promised(reports: int) -> None:
    check_coverage(binomial_interval, reports)


@pytest.mark.parametrize(("inputs", "epsilon"), CHANNELS)
def test_many_reports_are_covered_on_average_as_promised(inputs: int, epsilon: object) -> None:
    support = _support(inputs, epsilon)
    for reports in AVERAGED:
        mean = mean_coverage(support, reports)
        if (inputs, epsilon, reports) in TOO_WIDE:
            assert mean > 0.955
        else:
            assert 0.945 <= mean <= 0.955


@for_each("reports", [0, 7, 49, 50, 64, 1000])
def test_many_intervals_at_once_are_those_of_each_count(reports: int) -> None:
    low, high = binomial_intervals(np.arange(reports + 1), reports)
    ends = [binomial_interval(count, reports) for count in range(reports + 1)]
    rounding = 4 * np.finfo(float).eps
    assert np.allclose(np.column_stack([low, high]), ends, rtol=0, atol=rounding)
    assert (low <= high).all()


@pytest.mark.parametrize("name", estimators.INTERVALS)
def test_a_wrong_interval_is_refused(name: str) -> None:
    with pytest.raises(AssertionError):
        check_coverage(estimators.INTERVALS[name], 64)


def test_the_worst_truth_is_found_where_it_is_known_to_be() -> None:
    """Brown, Cai & DasGupta 2001: the score interval falls to about 84% where 0.18 are
    expected.
    """
    plain = estimators.INTERVALS["score interval where few are expected"]
    assert 0.83 < worst_coverage(plain, 1000) < 0.84
