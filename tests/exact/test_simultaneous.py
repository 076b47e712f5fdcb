"""Intervals that hold together: their far tails against exact sums, and how often all of them hold
at once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from estimator.decoders.decoder import Inverse
from estimator.decoders.inversions import inverse_of
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import FEW, tail_of
from estimator.statistics.intervals import binomial_intervals
from tests.support.core.tables import for_each
from tests.support.estimates.coverage import chances, check_held, compositions, drawn_tallies
from tests.support.estimates.inverses import PRECISION, requested, scale_of, uneven

REPORTS = (50, 53, 64, 100, 317, 1000)


@lru_cache(maxsize=64)
def ends(reports: int, family: int) -> tuple[Floats, Floats]:
    """Return the interval for each count."""
    return binomial_intervals(np.arange(reports + 1, dtype=np.int64), reports, family)


def tails(counts: Floats, reports: int, bounds: Floats) -> Floats:
    """Return the probability of at least each count at its bound, by exact sums."""
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, reports + 1)))])
    all_counts = np.arange(reports + 1)
    ways = logarithms[reports] - logarithms - logarithms[::-1]
    terms = ways + all_counts * np.log(bounds)[:, None] + (reports - all_counts) * np.log1p(-bounds)[:, None]
    beyond: Floats = np.where(all_counts >= counts[:, None], np.exp(terms), 0.0).sum(axis=1)
    return beyond


@pytest.mark.parametrize("family", [2, 8, 256, 10**6])
def test_far_tails_are_those_of_exact_sums(family: int) -> None:
    for reports in REPORTS:
        counts = np.arange(1, reports + 1)
        lows = ends(reports, family)[0][counts]
        errors = np.abs(tails(counts.astype(np.float64), reports, lows) / tail_of(family) - 1)
        assert errors.max() <= 1e-10


@pytest.mark.parametrize("family", [2, 8, 256])
def test_few_counts_have_the_bounds_of_exact_sums(family: int) -> None:
    for reports in (10, 49, 50, 1000):
        counts = np.arange(1, min(FEW, reports) + 1)
        low, high = ends(reports, family)
        beyond = tails(counts.astype(np.float64), reports, low[counts])
        # bisection compares sums of many terms near 1, whose last digits are a large part of the
        # tail
        assert np.abs(beyond / tail_of(family) - 1).max() <= 4 * (FEW + reports) * PRECISION / tail_of(family)
        assert np.abs(low + high[::-1] - 1).max() <= 4 * PRECISION
        assert (np.diff(low) >= 0).all()


def all_hold(
    reports: int, family: int, channel: KAryRandomizedResponse, tallies: Counts, shares: Floats
) -> NDArray[np.bool_]:
    """Return whether the intervals of each tally hold all shares; each share's interval depends on
    its own count alone.
    """
    laws = inverse_of(channel).symbol_law(shares)
    low, high = ends(reports, family)
    return np.asarray(((low[tallies] <= laws) & (laws <= high[tallies])).all(axis=1))


@for_each("epsilon", ["1", "4"])
@for_each("reports", [10, 49, 50])
def test_all_three_shares_are_held_at_every_truth_by_exact_sums(reports: int, epsilon: str) -> None:
    channel = KAryRandomizedResponse.within(requested(epsilon), 3)
    tallies = compositions(reports, 3)
    truths = compositions(20, 3) / 20
    laws = np.array([inverse_of(channel).symbol_law(shares) for shares in truths])
    likely = chances(tallies, laws)
    held = np.array([all_hold(reports, 3, channel, tallies, shares) for shares in truths])
    assert (held.T * likely).sum(axis=0).min() >= 0.95


@for_each("values", range(3, 9))
@for_each("reports", [10, 49, 50, 1000])
def test_all_shares_are_held_together_as_often_as_promised(values: int, reports: int) -> None:
    for epsilon in ("1", "4"):
        channel = KAryRandomizedResponse.within(requested(epsilon), values)
        for shares in (np.eye(1, values)[0], uneven(values), np.full(values, 1 / values)):
            law = inverse_of(channel).symbol_law(shares)
            batches = drawn_tallies(law, reports, 6)
            check_held((all_hold(reports, values, channel, batch, shares)[:, None] for batch in batches), 0.95)


def test_single_intervals_do_not_hold_together() -> None:
    channel = KAryRandomizedResponse.within(requested(1), 8)
    law = inverse_of(channel).symbol_law(uneven(8))
    held = (all_hold(1000, 1, channel, batch, uneven(8))[:, None] for batch in drawn_tallies(law, 1000, 6))
    with pytest.raises(AssertionError):
        check_held(held, 0.95)


@pytest.mark.parametrize(
    "channel", [CyclicDesign.within(requested(2), 9, 4, 3), scale_of(6, "2")], ids=lambda c: c.name
)
@pytest.mark.parametrize("reports", [400, 2000])
def test_all_shares_of_least_squares_are_held_together_as_often_as_promised(
    channel: CyclicDesign, reports: int
) -> None:
    inverse, k = inverse_of(channel), channel.inputs
    for shares in (np.eye(1, k)[0], np.full(k, 1 / k)):
        law = inverse.symbol_law(shares)
        check_held((hold_all(inverse, batch, shares)[:, None] for batch in drawn_tallies(law, reports, 6)), 0.95)


def hold_all(inverse: Inverse, tallies: Counts, shares: Floats) -> NDArray[np.bool_]:
    intervals = [inverse.intervals(tally, int(tally.sum()), shares.size) for tally in tallies]
    return np.array([bool(((low <= shares) & (shares <= high)).all()) for low, high in intervals])


@for_each("reports", [1, 10, 49, 50, 317, 1000])
def test_an_interval_that_holds_with_others_is_not_narrower_than_by_itself(reports: int) -> None:
    """From two intervals on: half the tail on either side is farther out than a score interval is
    ever moved.
    """
    low, high = ends(reports, 1)
    for family in (2, 8, 256):
        low_together, high_together = ends(reports, family)
        assert (low_together <= low).all()
        assert (high_together >= high).all()
        low, high = low_together, high_together
