"""Shares with the least expected squared error: possible, in order, and nearer to the truth than
all others.
"""

from __future__ import annotations

import numpy as np
import pytest

from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms import channel_for
from estimator.analyses.shrinkage import AT_ONCE, FEWEST, shrunken_shares
from estimator.decoders.inversions import inverse_of
from estimator.likelihood.shares import maximum_likelihood
from estimator.statistics.arrays import Floats
from tests.support.core.tables import for_each
from tests.support.estimates.inverses import PRECISION, requested

REPORTS = 100_000
SEEDS = {32: 10, 1024: 3}
EPSILONS = ("0.5", "1", "2", "4")


def zipf(values: int) -> Floats:
    shares: Floats = np.arange(1.0, values + 1) ** -1.1
    law: Floats = shares / shares.sum()
    return law


def two_valued(values: int) -> Floats:
    shares = np.zeros(values)
    shares[[0, values // 2]] = 0.7, 0.3
    return shares


def errors(values: int, epsilon: str, truth: Floats, *, likelihood: bool) -> Floats:
    """Return the squared errors, summed over seeds, of raw shares, shrunken ones and, on request,
    likeliest ones.
    """
    inverse = inverse_of(channel_for(Category(tuple(map(str, range(values)))), requested(epsilon), "auto"))
    law = inverse.symbol_law(truth)
    squares = []
    for seed in range(SEEDS[values]):
        counts = np.random.default_rng(seed).multinomial(REPORTS, law / law.sum())
        raw = inverse.shares(counts, REPORTS)
        kinds = [raw, shrunken_shares(raw, inverse.standard_errors(counts, REPORTS))]
        kinds += [maximum_likelihood(inverse, counts)] if likelihood else []
        squares.append([float(((shares - truth) ** 2).sum()) for shares in kinds])
    total: Floats = np.array(squares).sum(axis=0)
    return total


@for_each("epsilon", EPSILONS)
@for_each("values", SEEDS)
def test_shrunken_shares_are_nearer_to_zipfs_than_likeliest_and_than_unbiased_ones(values: int, epsilon: str) -> None:
    raw, shrunken, likeliest = errors(values, epsilon, zipf(values), likelihood=True).tolist()
    assert shrunken < likeliest
    assert shrunken < raw


@for_each("epsilon", EPSILONS)
@for_each("values", SEEDS)
@for_each("population", ["uniform", "two-valued"])
def test_shrunken_shares_are_never_farther_than_unbiased_ones(population: str, values: int, epsilon: str) -> None:
    """The margin: a sum of k squared normal errors deviates by the root of 2 / (k seeds), and
    rarely by six times that.
    """
    truth = two_valued(values) if population == "two-valued" else np.full(values, 1 / values)
    raw, shrunken = errors(values, epsilon, truth, likelihood=False).tolist()
    assert shrunken <= raw * (1 + 6 * (2 / (values * SEEDS[values])) ** 0.5)


@pytest.mark.parametrize("values", [FEWEST, 100, 5000])
def test_shrunken_shares_are_possible_together_and_in_the_order_of_their_estimates(values: int) -> None:
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(0, 0.01, values)
        raw = np.random.default_rng(seed).dirichlet(np.full(values, 0.3)) + noise
        shares = shrunken_shares(raw, np.full(values, 0.01))
        assert (shares >= 0).all()
        assert abs(float(shares.sum()) - 1) <= 16 * values * PRECISION
        assert np.diff(shares[np.argsort(raw)]).min() >= -16 * PRECISION


@pytest.mark.long
def test_a_million_shares_are_shrunk_in_pieces() -> None:
    """At most a million sizes of a share are held at once; working in pieces changes only the order
    of sums.
    """
    values = 10**6
    raw = zipf(values) + np.random.default_rng(1).normal(0, 1e-4, values)
    shares = shrunken_shares(raw, np.full(values, 1e-4))
    assert abs(float(shares.sum()) - 1) <= 16 * values * PRECISION
    assert values > 60 * AT_ONCE
    assert ((shares - zipf(values)) ** 2).sum() < ((raw - zipf(values)) ** 2).sum() / 100


def test_pieces_change_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = zipf(1000) + np.random.default_rng(2).normal(0, 1e-3, 1000)
    whole = shrunken_shares(raw, np.full(1000, 1e-3))
    monkeypatch.setattr("estimator.analyses.shrinkage.AT_ONCE", 64)
    assert np.abs(shrunken_shares(raw, np.full(1000, 1e-3)) - whole).max() <= 2**10 * PRECISION
