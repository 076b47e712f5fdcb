"""Shares of the least expected squared error: each estimate is drawn towards what the others say is usual.

Unbiased estimates of many shares stray far more than most shares are large. How common shares of each size are shows in
the estimates themselves: their distribution is a mixture of normal laws around the sizes, the weights of which are
found by expectation maximisation; the mean of a share given its own estimate is then less far from the truth (Robbins
1956, "An empirical Bayes approach to statistics"; Stephens 2017, "False discovery rates: a new deal", section 2, for
mixtures on a grid of scales). At last the shares are moved to the simplex.

These estimates are biased on purpose, towards each other, and have no intervals of their own. They are what to rank by,
or to sum over many rare values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from estimator.intervals import Floats
from estimator.simplex import nearest_shares

FEWEST = 10
"""Values whose estimates show what is usual; of fewer there is nothing to learn."""

RATIO = 1.3
"""Of the sizes of the mixture, each to the one before: finer ones follow the noise, coarser ones blur what is usual."""

LEAST_SIZE = 0.1
"""Of the median standard error: what is smaller looks like nothing."""

ROUNDS = 10
"""Of expectation maximisation, from equal weights: a few find what is usual, many would fit the noise."""

ENOUGH = 2**16
"""Shares from which the mixture is learnt, evenly spaced among all if there are more of them."""

AT_ONCE = 2**14
"""Shares for which the mixture is written out in one piece: arrays of some MB."""


def shrunken_shares(shares: Floats, errors: Floats) -> Floats:
    """Return the shares of the least expected squared error, on the simplex, shape (k,).

    Args:
        shares: unbiased estimates, shape (k,), of at least `FEWEST` values.
        errors: their standard errors, above 0.

    """
    sizes = _sizes(shares, errors)
    some = slice(None, None, -(-shares.size // ENOUGH))
    weights = _weights(shares[some], errors[some], sizes)
    means = [_means(*part, sizes, weights) for part in _parts(shares, errors)]
    return nearest_shares(np.concatenate(means))


def _weights(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return how usual each size is."""
    likelihoods = [_likelihoods(*part, sizes) for part in _parts(shares, errors)]
    weights = np.full(sizes.size, 1 / sizes.size)
    for _ in range(ROUNDS):
        chances = [weights * (of_part.T @ (1 / (of_part @ weights))) for of_part in likelihoods]
        weights = np.sum(chances, axis=0) / shares.size
    return weights


def _parts(shares: Floats, errors: Floats) -> Iterator[tuple[Floats, Floats]]:
    for first in range(0, shares.size, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        yield shares[part], errors[part]


def _sizes(shares: Floats, errors: Floats) -> Floats:
    """Return 0 and sizes from far below the noise to the largest estimate, each a ratio larger than the one before."""
    usual = float(np.median(errors))
    largest = max(float(shares.max()), usual)
    steps = int(np.ceil(np.log(largest / (LEAST_SIZE * usual)) / np.log(RATIO)))
    return np.concatenate([[0.0], LEAST_SIZE * usual * RATIO ** np.arange(steps + 1)])


def _spreads(sizes: Floats) -> Floats:
    """Return how far shares of about a size are spread: to the next size."""
    return (RATIO - 1) * sizes


def _likelihoods(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return how likely each estimate is, given each size of its share; of every estimate the largest is 1."""
    variances = errors[:, None] ** 2 + _spreads(sizes) ** 2
    logarithms = -((shares[:, None] - sizes) ** 2) / (2 * variances) - np.log(variances) / 2
    likelihoods: Floats = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return likelihoods


def _means(shares: Floats, errors: Floats, sizes: Floats, weights: Floats) -> Floats:
    """Return the mean of each share given its estimate."""
    noise, spread = errors[:, None] ** 2, _spreads(sizes) ** 2
    of_size = (shares[:, None] * spread + sizes * noise) / (noise + spread)
    likelihoods = _likelihoods(shares, errors, sizes) * weights
    means: Floats = (likelihoods * of_size).sum(axis=1) / likelihoods.sum(axis=1)
    return means
