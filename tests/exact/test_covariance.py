"""What a report adds to each share, and the covariance of all shares, for every inverse: summed
over all symbols.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from client_sdk.protocol import Metric, Window, WindowKind
from client_sdk.protocol.kinds.category import Category
from estimator.analyses.metric import estimate
from estimator.analyses.ratios import MOST_VALUES, Sample
from estimator.decoders.inversions import inverse_of
from estimator.results.report import Request
from estimator.statistics.arrays import Counts
from estimator.tallies import Tally
from tests.support.core.tables import for_each
from tests.support.estimates.inverses import CHANNELS, matrix, scale_of, uneven
from tests.support.estimates.moments import check_contrast, check_covariance, moment_rounding
from tests.support.mutants import estimators

BY_NAME = pytest.mark.parametrize("name", CHANNELS)


def tally(name: str, reports: int = 10**6) -> Counts:
    """Return a tally in the proportions of a law: no estimate lies outside the simplex by more than
    rounding.
    """
    channel = CHANNELS[name]
    counts: Counts = np.rint(matrix(channel) @ uneven(channel.inputs) * reports).astype(np.int64)
    return counts


def lopsided(name: str) -> Counts:
    """Return a tally of almost only one symbol: estimates far outside the simplex."""
    return np.arange(CHANNELS[name].symbols, dtype=np.int64)[::-1] ** 3 + 1


@pytest.mark.long
@BY_NAME
def test_a_contrast_of_one_value_averaged_over_the_tally_is_its_share(name: str) -> None:
    for counts in (tally(name), lopsided(name)):
        check_contrast(CHANNELS[name], counts, lambda inverse, weights: inverse.contrast(weights))


@BY_NAME
def test_the_covariance_is_the_enumerated_one_of_the_nearest_population(name: str) -> None:
    for counts in (tally(name), lopsided(name)):
        check_covariance(
            CHANNELS[name], counts, lambda inverse, tallied, _: Sample.from_counts(inverse, tallied).covariance(inverse)
        )


@BY_NAME
def test_the_diagonal_is_the_square_of_the_standard_errors_where_nothing_was_moved(name: str) -> None:
    channel, counts = CHANNELS[name], tally(name, 2**50)
    inverse, reports = inverse_of(channel), int(counts.sum())
    variances = np.diagonal(Sample.from_counts(inverse, counts).covariance(inverse)) * reports
    squares = inverse.standard_errors(counts, reports) ** 2 * reports
    # rounded counts move the law by 2**-51 for each symbol, and the variance by that times squares
    # of what a report adds
    assert np.allclose(variances, squares, rtol=0, atol=moment_rounding(channel))


@pytest.mark.parametrize("name", ["larger blocks", "many blocks", "scale", "utilities"])
def test_beyond_the_simplex_least_squares_take_the_same_nearest_population_for_both(name: str) -> None:
    channel = CHANNELS[name]
    inverse, counts = inverse_of(channel), np.eye(1, channel.symbols, dtype=np.int64)[0] * 1000
    assert inverse.shares(counts, 1000).min() < 0
    variances = np.diagonal(Sample.from_counts(inverse, counts).covariance(inverse)) * 1000
    squares = inverse.standard_errors(counts, 1000) ** 2 * 1000
    assert np.allclose(variances, squares, rtol=0, atol=moment_rounding(channel))


@for_each("mutant", estimators.COVARIANCES)
@for_each("name", ["k-ary", "larger blocks", "scale"])
def test_a_wrong_covariance_is_refused(name: str, mutant: str) -> None:
    with pytest.raises(AssertionError):
        check_covariance(CHANNELS[name], tally(name), estimators.COVARIANCES[mutant])


@for_each("mutant", estimators.CONTRASTS)
@BY_NAME
def test_a_wrong_contrast_is_refused(name: str, mutant: str) -> None:
    # a law with an entry for each symbol may not fit in memory
    with pytest.raises((AssertionError, ValueError)):
        check_contrast(CHANNELS[name], tally(name), estimators.CONTRASTS[mutant])


def test_there_are_mutants_for_every_check() -> None:
    assert estimators.COVARIANCES
    assert estimators.CONTRASTS
    assert estimators.LIMITS
    assert estimators.INDEPENDENCES
    assert estimators.SETS


def _metric(values: int) -> Metric:
    names = tuple(map(str, range(values)))
    metric = Metric("m", "Why?", Category(names), scale_of(2, "1"), WindowKind.DAY)
    return replace(metric, channel=scale_of(values, "1")) if values <= 64 else metric


def test_a_covariance_is_given_if_it_is_requested_and_there_are_reports() -> None:
    metric = _metric(3)
    window = Window.parse("2026-11-20")
    for counts in ((5, 6, 7), (0, 0, 0), (0, 1, 0)):
        tallied = Tally("m", metric.edition, window, closed=True, reports=sum(counts), counts=counts)
        assert estimate(metric, tallied).covariance is None
        covariance = estimate(metric, tallied, Request(covariance=True)).covariance
        assert (covariance is None) == (sum(counts) == 0)
        if covariance is not None:
            expected = Sample.from_counts(inverse_of(metric.channel), np.array(counts)).covariance(
                inverse_of(metric.channel)
            )
            assert [list(row) for row in covariance] == expected.tolist()
    assert MOST_VALUES == 256
