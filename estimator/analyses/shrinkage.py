"""Estimated shares that are moved toward common sizes, which reduces their expected squared error.

If a metric has many values, the errors of the unbiased estimates are far larger than most true
shares. All estimates together show the common sizes of shares. For instance, nearly all of 1,000
shares may be near 0, and a few near 5%.

The method is empirical Bayes:

1. The estimates are assumed to follow a mixture of normal distributions, one around each possible
   size.
2. Expectation maximization finds the weights of these distributions.
3. The result for each share is its expected value, given its unbiased estimate.
4. These results are replaced by the nearest shares that are at least 0 and add up to 1.

Sources: Robbins 1956, "An empirical Bayes approach to statistics"; Stephens 2017, "False discovery
rates: a new deal", section 2.

The results are biased toward common sizes, and have no intervals. Use them to rank values, or to
add up the shares of many rare values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from estimator.statistics.arrays import Floats, nearest_shares

FEWEST = 10
"""The minimum number of values of a metric. Fewer estimates would not show the common sizes."""

RATIO = 1.3
"""The ratio of each possible size to the next smaller size.

A smaller ratio would fit the noise, and a larger ratio would blur the common sizes.
"""

LEAST_SIZE = 0.1
"""The smallest possible size above 0, as a fraction of the median standard error.

Smaller sizes cannot be distinguished from 0.
"""

ROUNDS = 10
"""The number of rounds of expectation maximization. Many more rounds would fit the noise."""

ENOUGH = 2**16
"""The maximum number of shares for fitting the mixture.

If there are more, only an even sample of the shares is used.
"""

AT_ONCE = 2**14
"""The maximum number of shares in a batch. The arrays then take a few megabytes."""


def shrunken_shares(shares: Floats, errors: Floats) -> Floats:
    """Move shares toward common sizes, and return the results, shape (..., k).

    Args:
        shares: the unbiased estimate of each share, shape (..., k), with k at least `FEWEST`.
        errors: the standard errors of the estimates, above 0, shape (..., k).
    """
    rows, errors_of_rows = shares.reshape(-1, shares.shape[-1]), errors.reshape(-1, shares.shape[-1])
    usual = _medians(errors_of_rows)
    largest = np.maximum(rows.max(axis=1, keepdims=True), usual)
    steps = np.ceil(np.log(largest / (LEAST_SIZE * usual)) / np.log(RATIO))[:, 0]
    shrunken = np.empty_like(rows)
    for number in np.unique(steps):  # one batch for all tallies with this number of sizes
        alike = steps == number
        ratios = np.append(0.0, RATIO ** np.arange(number + 1))
        shrunken[alike] = _of_sizes(rows[alike], errors_of_rows[alike], LEAST_SIZE * usual[alike] * ratios)
    return nearest_shares(shrunken).reshape(shares.shape)


def _medians(errors: Floats) -> Floats:
    rising, middle = np.sort(errors), (errors.shape[-1] - 1) / 2
    medians: Floats = (rising[:, [math.floor(middle)]] + rising[:, [math.ceil(middle)]]) / 2
    return medians


def _of_sizes(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return the expected value of each share, given its estimate, shape (tallies, k).

    The possible sizes, shape (tallies, sizes), are 0 and a geometric sequence.
    """
    sample = slice(None, None, -(-shares.shape[-1] // ENOUGH))
    weights = _weights(shares[:, sample], errors[:, sample], sizes)
    return np.concatenate([_means(*part, sizes, weights) for part in _parts(shares, errors)], axis=-1)


def _weights(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return the estimated fraction of shares near each size, shape (tallies, 1, sizes)."""
    likelihoods = [_likelihoods(*part, sizes) for part in _parts(shares, errors)]
    weights = np.full((len(sizes), 1, sizes.shape[-1]), 1 / sizes.shape[-1])
    for _ in range(ROUNDS):
        chances = [weights * (1 / (weights @ np.swapaxes(likelihood, 1, 2)) @ likelihood) for likelihood in likelihoods]
        weights = np.sum(chances, axis=0) / shares.shape[-1]
    return weights


def _parts(shares: Floats, errors: Floats) -> Iterator[tuple[Floats, Floats]]:
    for first in range(0, shares.shape[-1], AT_ONCE):
        part = slice(first, first + AT_ONCE)
        yield shares[:, part], errors[:, part]


def _spreads(sizes: Floats) -> Floats:
    """Return the standard deviation around each size: the distance to the next larger size."""
    return (RATIO - 1) * sizes


def _likelihoods(shares: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return each estimate's likelihood under each size, relative to the largest likelihood."""
    sizes = sizes[:, np.newaxis]
    variances = errors[..., np.newaxis] ** 2 + _spreads(sizes) ** 2
    logarithms = -((shares[..., np.newaxis] - sizes) ** 2) / (2 * variances) - np.log(variances) / 2
    likelihoods: Floats = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    return likelihoods


def _means(shares: Floats, errors: Floats, sizes: Floats, weights: Floats) -> Floats:
    """Return the expected value of each share, given its estimate and the weights of sizes."""
    likelihoods = _likelihoods(shares, errors, sizes) * weights
    noise, sizes = errors[..., np.newaxis] ** 2, sizes[:, np.newaxis]
    spread = _spreads(sizes) ** 2
    of_size = (shares[..., np.newaxis] * spread + sizes * noise) / (noise + spread)
    means: Floats = (likelihoods * of_size).sum(axis=-1) / likelihoods.sum(axis=-1)
    return means
