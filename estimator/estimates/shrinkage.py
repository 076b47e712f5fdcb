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

import math
from collections.abc import Iterator

import numpy as np

from estimator.statistics.arrays import Floats
from estimator.statistics.simplex import nearest_shares

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
    """Return the shares of the least expected squared error, on the simplex, shape (..., k).

    Args:
        shares: unbiased estimates, shape (..., k), of at least `FEWEST` values.
        errors: their standard errors, above 0.

    """
    rows, errors_of_rows = shares.reshape(-1, shares.shape[-1]), errors.reshape(-1, shares.shape[-1])
    usual = _medians(errors_of_rows)
    largest = np.maximum(rows.max(axis=1, keepdims=True), usual)
    steps = np.ceil(np.log(largest / (LEAST_SIZE * usual)) / np.log(RATIO))[:, 0]
    shrunken = np.empty_like(rows)
    for number in np.unique(steps):  # tallies whose mixtures are of equally many sizes side by side
        alike = steps == number
        ratios = np.append(0.0, RATIO ** np.arange(number + 1))
        shrunken[alike] = _of_sizes(rows[alike], errors_of_rows[alike], LEAST_SIZE * usual[alike] * ratios)
    return nearest_shares(shrunken).reshape(shares.shape)


def _medians(errors: Floats) -> Floats:
    """Return the median of each row, shape (tallies, 1)."""
    rising, middle = np.sort(errors), (errors.shape[-1] - 1) / 2
    medians: Floats = (rising[:, [math.floor(middle)]] + rising[:, [math.ceil(middle)]]) / 2
    return medians


def _of_sizes(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return the mean of each share given its estimate, shape (tallies, k); sizes have shape (tallies, sizes).

    The sizes are 0 and from far below the noise to the largest estimate, each a ratio larger than the one before.
    """
    some = slice(None, None, -(-shares.shape[-1] // ENOUGH))
    weights = _weights(shares[:, some], errors[:, some], sizes)
    return np.concatenate([_means(*part, sizes, weights) for part in _parts(shares, errors)], axis=-1)


def _weights(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return how usual each size is, shape (tallies, 1, sizes)."""
    likelihoods = [_likelihoods(*part, sizes) for part in _parts(shares, errors)]
    weights = np.full((len(sizes), 1, sizes.shape[-1]), 1 / sizes.shape[-1])
    for _ in range(ROUNDS):
        chances = [weights * (1 / (weights @ np.swapaxes(one, 1, 2)) @ one) for one in likelihoods]
        weights = np.sum(chances, axis=0) / shares.shape[-1]
    return weights


def _parts(shares: Floats, errors: Floats) -> Iterator[tuple[Floats, Floats]]:
    for first in range(0, shares.shape[-1], AT_ONCE):
        part = slice(first, first + AT_ONCE)
        yield shares[:, part], errors[:, part]


def _spreads(sizes: Floats) -> Floats:
    """Return how far shares of about a size are spread: to the next size."""
    return (RATIO - 1) * sizes


def _likelihoods(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return how likely each estimate is, given each size of its share; of every estimate the largest is 1."""
    sizes = sizes[:, np.newaxis]
    variances = errors[..., np.newaxis] ** 2 + _spreads(sizes) ** 2
    logarithms = -((shares[..., np.newaxis] - sizes) ** 2) / (2 * variances) - np.log(variances) / 2
    likelihoods: Floats = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    return likelihoods


def _means(shares: Floats, errors: Floats, sizes: Floats, weights: Floats) -> Floats:
    """Return the mean of each share given its estimate."""
    likelihoods = _likelihoods(shares, errors, sizes) * weights
    noise, sizes = errors[..., np.newaxis] ** 2, sizes[:, np.newaxis]
    spread = _spreads(sizes) ** 2
    of_size = (shares[..., np.newaxis] * spread + sizes * noise) / (noise + spread)
    means: Floats = (likelihoods * of_size).sum(axis=-1) / likelihoods.sum(axis=-1)
    return means
