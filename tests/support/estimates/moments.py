"""The properties of correct second moments, summed over all symbols. Each check raises
AssertionError for wrong ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from estimator.analyses.ratios import Ratios
from estimator.decoders.decoder import Inverse
from estimator.decoders.inversions import inverse_of
from estimator.statistics.arrays import Counts, Floats, nearest_shares
from tests.support.estimates.inverses import PRECISION, enumerated_covariance, rounding, weights

Covariance = Callable[[Inverse, Counts, int], Floats]
Contrast = Callable[[Inverse, Floats], Floats]
Limits = Callable[[Ratios, int, int, float], tuple[float, float] | None]


def moment_rounding(channel: Channel) -> float:
    """Return a bound on the rounding of a sum over symbols of the squares of contributions."""
    inverse = inverse_of(channel)
    largest = max(1.0, rounding(channel, inverse) / (64 * PRECISION * channel.symbols))
    return 4 * largest * rounding(channel, inverse)


def check_contrast(channel: Channel, counts: Counts, contrast: Contrast) -> None:
    """For any weights, a weighted sum of shares is the mean over reports of each report's
    contribution.
    """
    inverse, reports = inverse_of(channel), int(counts.sum())
    shares = inverse.shares(counts, reports)
    rows = [*np.eye(channel.inputs), np.arange(channel.inputs, dtype=np.float64)]
    for row in rows:
        estimated = float(contrast(inverse, row) @ counts) / reports
        assert abs(estimated - float(row @ shares)) <= rounding(channel, inverse) * max(1.0, float(row.sum()))


def check_covariance(channel: Channel, counts: Counts, covariance: Covariance) -> None:
    """The covariance is the enumerated one of the population nearest to the estimate.

    Rows have the sum 0 where shares always have the sum 1: everywhere, except for a part of a
    geometry's points, or of a design's.
    """
    inverse, reports = inverse_of(channel), int(counts.sum())
    estimated = covariance(inverse, counts, reports)
    nearest = nearest_shares(inverse.shares(counts, reports))
    expected = enumerated_covariance(channel, inverse, nearest) / reports
    tolerance = moment_rounding(channel) / reports
    assert np.abs(estimated - expected).max() <= tolerance
    if np.abs(weights(channel, inverse).sum(axis=1) - 1).max() <= channel.inputs * rounding(channel, inverse):
        assert np.abs(estimated.sum(axis=0)).max() <= channel.inputs * tolerance
    else:
        assert isinstance(channel, ProjectiveGeometry | BalancedDesign)
        assert channel.inputs < channel.symbols
    assert np.abs(estimated - estimated.T).max() <= tolerance


def check_limits(table: Ratios, group: int, outcome: int, z: float, limits: Limits) -> None:
    """At Fieller's limits, share - ratio * total is z times its standard deviation from 0, on
    either side.
    """
    ratios = limits(table, group, outcome, z)
    assert ratios is not None
    share, total = table.pairs[group, outcome], table.sums[group]
    assert ratios[0] < share / total < ratios[1]
    for ratio in ratios:
        off = share - ratio * total
        variance = (
            table.of_pairs[group, outcome, group, outcome]
            - 2 * ratio * table.of_both[group, outcome, group]
            + ratio**2 * table.of_sums[group, group]
        )
        # the limits are roots of a quadratic equation of numbers of size 1, a few last digits of
        # which cancel
        assert abs(off**2 - z**2 * variance) <= 64 * PRECISION
