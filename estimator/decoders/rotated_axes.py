"""The decoder of rotated axes, which rotates the reported axes back and scales their mean.

A device rotates its vector by one of B public random rotations, and reports one of the D coordinate
axes, with a sign. The device prefers the s axes with the largest coordinates of the rotated vector.
These axes are called favored.

The reported axes of each rotation are counted first. Each rotation is then reversed once, instead
of once per report. The mean of the axes has the direction of the mean vector, but is shorter by a
factor: the gain. The gain is computed for a uniform random rotation. The actual rotations consist
of three rounds of signs and transforms, and their gain differs from this result by less than 0.1%
(docs/research/vectors.md).
"""

from __future__ import annotations

import math
from functools import lru_cache
from hashlib import shake_256
from typing import Final

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.rotated_axes import OFFSET, ROUNDS, RotatedAxes
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import binomial_tail

BLOCKS: Final = 128
"""The maximum number of blocks into which the rotations of a channel are divided."""

RANKED: Final = 1 / math.sqrt(1 + (512 * OFFSET / 2**20) ** 2 / 12)
"""The correlation of a coordinate with the sum of the coordinate and a device's offset.

The coordinate is normally distributed, and the offset uniformly. Devices add the offset before they
select the largest coordinates, which reduces the gain by this factor.
"""

GRID_POINTS: Final = 2001
"""The number of grid points for the integrals in `largest_sum` and `largest_squares`.

Doubling this number changes the integrals by less than one part in 10**6.
"""

LARGEST_SIZE: Final = 12.0
"""The upper end of the integrals in `largest_sum` and `largest_squares`."""


def block_sums(channel: RotatedAxes, counts: Counts | Floats) -> Floats:
    """Return, for each block of rotations, the sum of the reported axes after rotating them back.

    ``counts`` contains the count or the probability of each symbol, shape (B * 2D,). The result has
    shape (blocks, D).
    """
    of_blocks = np.zeros((min(BLOCKS, channel.rotations), channel.dimension))
    by_direction = counts.reshape(channel.rotations, channel.dimension, 2)
    axes = (by_direction[:, :, 0] - by_direction[:, :, 1]).astype(np.float64)
    reported = np.flatnonzero(axes.any(axis=1))
    np.add.at(of_blocks, reported % len(of_blocks), turned_back(channel, axes[reported], reported))
    return of_blocks


def block_reports(channel: RotatedAxes, counts: Counts) -> Counts:
    """Return the number of reports in each block of rotations, shape (blocks,)."""
    of_rotations = counts.reshape(channel.rotations, -1).sum(axis=1)
    reports: Counts = of_rotations.reshape(-1, min(BLOCKS, channel.rotations)).sum(axis=0)
    return reports


def turned_back(channel: RotatedAxes, vectors: Floats, rotations: Counts) -> Floats:
    """Return each vector after reversing its rotation, shape (vectors, D)."""
    for step in reversed(range(ROUNDS)):
        vectors = hadamard(vectors) * signs_of(channel, rotations, step)
    scaled: Floats = vectors / math.sqrt(channel.dimension**ROUNDS)
    return scaled


def hadamard(vectors: Floats) -> Floats:
    """Return the unnormalized Walsh-Hadamard transform of each row."""
    dimension = vectors.shape[-1]
    columns = 1 << (dimension.bit_length() // 2)
    of_columns = vectors.reshape(-1, columns) @ _matrix(columns)
    transformed: Floats = _matrix(dimension // columns) @ of_columns.reshape(-1, dimension // columns, columns)
    return transformed.reshape(vectors.shape)


@lru_cache
def _matrix(size: int) -> Floats:
    matrix: Floats = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def signs_of(channel: RotatedAxes, rotations: Counts, step: int) -> Floats:
    """Return the random signs, 1 or -1, of one round, shape (rotations, D).

    A rotation consists of several rounds. Each round multiplies coordinates by signs and then
    applies a transform. `rotated_axes.signs` in the SDK returns the signs for a single rotation.
    """
    dimension = channel.dimension
    head = f"hearsay rotation 1 {channel.window} {dimension}"
    streams = (shake_256(f"{head} {rotation} {step}".encode()) for rotation in rotations.tolist())
    packed = b"".join(stream.digest(dimension // 8) for stream in streams)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little").reshape(-1, dimension)
    signs: Floats = 1.0 - 2.0 * bits.astype(np.float64)
    return signs


def offsets_of(channel: RotatedAxes, rotations: Counts) -> Floats:
    """Return the offsets that devices add to rotated coordinates, shape (rotations, D).

    `rotated_axes.offsets` in the SDK returns the offsets of a single rotation.
    """
    dimension = channel.dimension
    head = f"hearsay offset 1 {channel.window} {dimension}"
    packed = b"".join(shake_256(f"{head} {rotation}".encode()).digest(dimension) for rotation in rotations.tolist())
    drawn = np.frombuffer(packed, np.uint8).reshape(-1, dimension).astype(np.float64)
    offsets: Floats = (2 * drawn - 255) * (OFFSET * dimension)
    return offsets


@lru_cache
def gain(dimension: int, favoured: int, keep_numerator: int) -> float:
    """Return the gain: the expected component of a reported axis along the vector.

    Args:
        dimension: D, the number of dimensions.
        favoured: s, the number of favored axes.
        keep_numerator: the probability of reporting a favored axis, times `COIN_SCALE`.
    """
    keep: float = keep_numerator / COIN_SCALE
    along: float = largest_sum(dimension, favoured)
    return RANKED * (keep * along / favoured - (1 - keep) * along / (2 * dimension - favoured))


def square_along(channel: RotatedAxes) -> float:
    """Return the expected squared component of a reported axis in the direction of the vector."""
    dimension, favoured = channel.dimension, channel.favoured
    keep: float = channel.keep_numerator / COIN_SCALE
    squares = largest_squares(dimension, favoured)
    return keep * squares / favoured + (1 - keep) * (2 - squares) / (2 * dimension - favoured)


def gain_of(channel: RotatedAxes) -> float:
    """Return the gain of a channel. The gain is the same in all windows."""
    return gain(channel.dimension, channel.favoured, channel.keep_numerator)


@lru_cache
def largest_sum(dimension: int, favoured: int) -> float:
    """Return the expected sum of the s largest absolute coordinates of a random unit vector.

    Consider a vector of D normal variables. The number N of absolute values above z is binomial.
    The expected sum is the integral of E[min(s, N)] over z from 0 to infinity. The result is this
    sum divided by the expected length of the normal vector. Length and direction are independent.
    """
    sizes, numbers = _numbers_above(dimension, favoured)
    length = math.exp(math.log(2) / 2 + math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))
    return float(np.trapezoid(numbers, sizes)) / length


@lru_cache
def largest_squares(dimension: int, favoured: int) -> float:
    """Return the expected sum of the s largest squared coordinates of a random unit vector.

    The integral is the same as in `largest_sum`, with 2 z dz instead of dz.
    """
    sizes, numbers = _numbers_above(dimension, favoured)
    return float(np.trapezoid(2 * sizes * numbers, sizes)) / dimension


def _numbers_above(dimension: int, favoured: int) -> tuple[Floats, Floats]:
    """Return the grid points z of `largest_sum`, and E[min(s, N)] for each of them."""
    sizes = np.linspace(0.0, LARGEST_SIZE, GRID_POINTS)
    above = np.array([math.erfc(size / math.sqrt(2)) for size in sizes])
    return sizes, _expected_least(dimension, favoured, above)


def _expected_least(trials: int, most: int, chances: Floats) -> Floats:
    """Return E[min(most, N)] of a binomial N, for each success probability, shape (chances,).

    The contribution of the values of N below ``most`` follows from the identity N P(N successes of
    n) = n p P(N - 1 successes of n - 1).
    """
    is_most, is_less = binomial_tail(most, trials, chances), 1 - binomial_tail(most - 1, trials - 1, chances)
    expected: Floats = most * is_most + trials * chances * is_less
    return expected
