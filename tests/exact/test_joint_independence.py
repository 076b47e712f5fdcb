"""Whether two questions depend: how often Wald's test is wrong, what it detects, and the chi-square
law.

Rates of rejection at 5% are drawn. The number of tallies follows from a rate that would be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses.pairs import _independence, joint_of
from estimator.analyses.ratios import Ratios, Sample
from estimator.decoders.decoder import Inverse
from estimator.decoders.inversions import inverse_of
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import chi_square_tail
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import drawn_tallies
from tests.support.estimates.inverses import PRECISION, requested, uneven
from tests.support.laws.sampling import accepts_each
from tests.support.mutants import estimators

LEVEL = 0.05
TOO_OFTEN, TOO_SELDOM = 0.11, 0.01
"""A wrong rate that must not pass as 5%."""


def crossed(groups: int, outcomes: int) -> Cross:
    return Cross(Category(tuple(map(str, range(groups)))), Category(tuple(map(str, range(outcomes)))))


def wald(cross: Cross, inverse: Inverse, counts: Counts) -> float:
    reports = int(counts.sum())
    shares, covariance = inverse.shares(counts, reports), Sample.from_counts(inverse, counts).covariance(inverse)
    test = _independence(Ratios.from_shares(shares, covariance, cross.first.size, cross.second.size))
    assert test.degrees_of_freedom == (cross.first.size - 1) * (cross.second.size - 1)
    return test.p_value


def rejections(
    cross: Cross, epsilon: str, reports: int, truth: Floats, test: estimators.Independence
) -> Iterator[NDArray[np.bool_]]:
    """Yield of one batch of tallies after another which of them a test at 5% rejects."""
    inverse = inverse_of(channel_for(cross, requested(epsilon), "k-ary-randomized-response"))
    for tallies in drawn_tallies(inverse.symbol_law(truth.ravel()), reports, 4):
        yield np.array([test(cross, inverse, counts) <= LEVEL for counts in tallies])


def check_level(cross: Cross, epsilon: str, reports: int, test: estimators.Independence) -> None:
    truth = np.outer(uneven(cross.first.size), uneven(cross.second.size)) ** (1 / 3)
    for wrong in (TOO_OFTEN, TOO_SELDOM):
        assert accepts_each(rejections(cross, epsilon, reports, truth / truth.sum(), test), LEVEL, wrong), wrong


@pytest.mark.long
@for_each("reports", [10**4, 10**5])
@for_each("epsilon", ["1", "3"])
@for_each("shape", [(2, 2), (3, 4)])
def test_metrics_that_have_nothing_to_do_with_each_other_are_said_to_in_one_of_twenty(
    shape: tuple[int, int], epsilon: str, reports: int
) -> None:
    check_level(crossed(*shape), epsilon, reports, wald)


@pytest.mark.parametrize("mutant", estimators.INDEPENDENCES)
def test_a_wrong_test_of_independence_is_refused(mutant: str) -> None:
    with pytest.raises(AssertionError):
        check_level(crossed(2, 2), "1", 10**5, estimators.INDEPENDENCES[mutant])


def test_the_joint_estimate_has_this_test() -> None:
    cross, counts = crossed(3, 4), np.arange(100, 1300, 100, dtype=np.int64) ** 2
    inverse = inverse_of(channel_for(cross, requested("1"), "k-ary-randomized-response"))
    sample = Sample.from_counts(inverse, counts)
    joint = joint_of(cross, inverse.shares(counts, sample.reports), sample.covariance(inverse), sample)
    assert joint.independence is not None
    assert joint.independence.p_value == wald(cross, inverse, counts)


def joint_p_value(cross: Cross, inverse: Inverse, counts: Counts) -> float:
    """Return the p-value that a report has."""
    sample = Sample.from_counts(inverse, counts)
    joint = joint_of(cross, inverse.shares(counts, sample.reports), sample.covariance(inverse), sample)
    assert joint.independence is not None
    return joint.independence.p_value


@pytest.mark.long
def test_a_pair_that_few_people_are_makes_metrics_depend_in_no_more_tallies() -> None:
    """Fewer than one of 300 is in the rarest pair. Wald's test by itself rejects a quarter."""
    truth = np.outer([0.05, 0.95], [0.05, 0.95])
    rejected = rejections(crossed(2, 2), "8", 300, truth, joint_p_value)
    assert accepts_each(rejected, LEVEL, TOO_OFTEN)


def test_where_few_people_decide_a_strong_dependence_is_still_seen() -> None:
    counts = np.array([40, 2, 2, 40], dtype=np.int64)
    inverse = inverse_of(channel_for(crossed(2, 2), requested("8"), "k-ary-randomized-response"))
    assert wald(crossed(2, 2), inverse, counts) < joint_p_value(crossed(2, 2), inverse, counts) < LEVEL


@pytest.mark.parametrize(("shape", "epsilon"), [((2, 2), "1"), ((3, 4), "3")], ids=str)
def test_metrics_that_depend_are_seen_to(shape: tuple[int, int], epsilon: str) -> None:
    """A dependence of .03 in four cells, 100,000 reports: seen in nine of ten tallies. The draws
    tell that from seven of ten.
    """
    cross = crossed(*shape)
    truth = np.full(shape, 1 / math.prod(shape))
    truth[:2, :2] += [[0.03, -0.03], [-0.03, 0.03]]
    assert accepts_each(rejections(cross, epsilon, 10**5, truth, wald), 0.9, 0.7)


@for_each("value", [1e-9, 0.1, 1, 2.5, 10, 100, 700, 1400])
def test_the_tail_of_chi_square_is_the_closed_form_where_there_is_one(value: float) -> None:
    for degrees, closed_form in ((1, math.erfc(math.sqrt(value / 2))), (2, math.exp(-value / 2))):
        # exponents up to 2**10 lose ten binary digits
        assert abs(chi_square_tail(value, degrees) / closed_form - 1) <= 2**12 * PRECISION


@for_each("degrees", [1, 2, 3, 4, 5, 6, 15, 30, 255])
def test_the_tail_of_chi_square_is_the_integral_of_its_density(degrees: int) -> None:
    """Simpson's rule in the square root of the variable, where the density is smooth; half the
    steps show its error.
    """
    for value in (degrees / 4, float(degrees), 2.0 * degrees + 10):

        def integral(steps: int, value: float = value) -> float:
            top = math.sqrt(value) + 40  # the rest is below e**-800
            roots = np.linspace(math.sqrt(value), top, 2 * steps + 1)
            logarithm = (degrees - 1) * np.log(roots) - roots**2 / 2 - math.lgamma(degrees / 2)
            density = 2 * np.exp(logarithm - (degrees / 2) * math.log(2))
            weights = np.ones(2 * steps + 1)
            weights[1:-1:2], weights[2:-1:2] = 4, 2
            return float(weights @ density) * (top - math.sqrt(value)) / (6 * steps)

        fine, coarse = integral(8000), integral(4000)
        # exponents up to 2**10 lose ten binary digits
        error = abs(fine - coarse) + 2**12 * PRECISION * fine
        assert abs(chi_square_tail(value, degrees) - fine) <= error


def test_the_tail_of_chi_square_is_everything_at_0_and_falls() -> None:
    for degrees in (1, 2, 7, 100):
        assert chi_square_tail(0.0, degrees) == 1
        tails = [chi_square_tail(value, degrees) for value in np.linspace(0, 4 * degrees, 50).tolist()]
        assert np.diff(tails).max() <= 4 * degrees * PRECISION
        assert all(0 <= tail <= 1 for tail in tails)
