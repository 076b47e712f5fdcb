"""Every inverse that tests use, and its expected results: laws, weights and moments summed over all
symbols.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol import Channel
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.mechanisms import channel_for
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential, by_distance
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.decoder import Inverse
from estimator.statistics.arrays import Floats

PRECISION = float(np.finfo(float).eps)


def requested(epsilon: str | int) -> RequestedEpsilon:
    return RequestedEpsilon.parse(Decimal(epsilon))


def scale_of(values: int, epsilon: str) -> Exponential:
    """Return the exponential mechanism of a scale."""
    return Exponential.within(requested(epsilon), by_distance(values))


UNLIKE = [[Fraction(utility) for utility in row] for row in ((0, -1, -3), (-1, 0, -1), (-3, -2, 0))]
"""Utilities without symmetry."""

CHANNELS: dict[str, Channel] = {
    "two coins": channel_for(Boolean(), RequestedEpsilon.parse("ln 3"), "randomized-response"),
    "k-ary": KAryRandomizedResponse.within(requested(1), 5),
    "pairs": CyclicDesign.within(requested(2), 8, 2, 7),
    "larger blocks": CyclicDesign.within(requested(1), 9, 4, 3),
    "many blocks": CyclicDesign.within(requested(2), 32, 9, 16),
    "balanced blocks": BalancedDesign.within(requested(1), 12, 12, 4, 1),
    "part of balanced blocks": BalancedDesign.within(requested(2), 10, 13, 4, 3),
    "projective plane": ProjectiveGeometry.within(requested(1), 13, 3, 3),
    "part of a plane": ProjectiveGeometry.within(requested(2), 5, 2, 3),
    "projective space": ProjectiveGeometry.within(requested(2), 14, 2, 4),
    "scale": scale_of(6, "1"),
    "utilities": Exponential.within(requested(3), UNLIKE),
}


@lru_cache(maxsize=256)
def matrix(channel: Channel) -> Floats:
    """Return P(symbol|input), shape (symbols, inputs)."""
    rows = [[float(channel.probability(y, x)) for x in range(channel.inputs)] for y in range(channel.symbols)]
    return np.array(rows)


def weights(channel: Channel, inverse: Inverse) -> Floats:
    """Return the contribution of one report to each share, shape (symbols, inputs)."""
    return np.array([inverse.shares(report, 1) for report in np.eye(channel.symbols, dtype=np.int64)])


def rounding(channel: Channel, inverse: Inverse) -> float:
    """Return a bound on rounding: a few last digits of each term, magnified by the inversion."""
    return 64 * PRECISION * channel.symbols * float(np.abs(weights(channel, inverse)).max())


def uneven(inputs: int) -> Floats:
    """Return shares of sum 1 that differ from each other."""
    shares: Floats = np.arange(1.0, inputs + 1) ** 3
    uneven_shares: Floats = shares / shares.sum()
    return uneven_shares


def enumerated_covariance(channel: Channel, inverse: Inverse, shares: Floats) -> Floats:
    """Return the covariance of one report's estimate in a population with the given shares, summed
    over all symbols.
    """
    law, added = matrix(channel) @ shares, weights(channel, inverse)
    around = added - law @ added
    covariance: Floats = (around.T * law) @ around
    return covariance


def solved(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return the inverse of a matrix of rationals by Gauss and Jordan."""
    size = len(rows)
    work = [[*row, *(Fraction(column == index) for column in range(size))] for index, row in enumerate(rows)]
    for column in range(size):
        pivot = next(row for row in range(column, size) if work[row][column])
        work[column], work[pivot] = work[pivot], work[column]
        work[column] = [entry / work[column][column] for entry in work[column]]
        for row in range(size):
            if row != column and work[row][column]:
                factor = work[row][column]
                work[row] = [a - factor * b for a, b in zip(work[row], work[column], strict=True)]
    return [row[size:] for row in work]
