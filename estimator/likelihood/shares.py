"""Maximum likelihood on the simplex: the shares, of sum 1, that make a tally likeliest.

They are biased where the simplex cuts (near 0 and 1), so they are reported beside the unbiased
estimates and labelled.

If every symbol supports one value the solution is exact: by the conditions of Karush, Kuhn and
Tucker, the share of a value above a common level is linear in its count and the others are 0, as in
water-filling (Boyd & Vandenberghe 2004, "Convex optimization", example 5.2). Otherwise a climb
finds it, from the point of the simplex nearest to the unbiased estimate.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from estimator.decoders.protocol import ChannelLaw, Inverse, TableLaw
from estimator.decoders.support import Support
from estimator.likelihood.projected_gradient import climbed
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.simplex import nearest_shares

WRITTEN_OUT = 2**17
"""The largest number of probabilities for which a law is written out, 1 MB: up to there a table is
faster than transforms.
"""

REMEMBERED = 16
"""Written-out laws kept for the next window of the same metric."""


def maximum_likelihood(inverse: Inverse, counts: Counts) -> Floats:
    """Return the likeliest shares, shape (..., k).

    Args:
        inverse: of the channel.
        counts: of each symbol, shape (..., m), in each tally at least one above 0.

    """
    if isinstance(inverse, Support):
        return _filled(inverse, counts)
    nearest = nearest_shares(inverse.shares(counts, counts.sum(axis=-1, keepdims=True)))
    law: ChannelLaw = inverse
    if counts.shape[-1] * nearest.shape[-1] <= WRITTEN_OUT:
        law = _written_out(inverse, nearest.shape[-1])
    return climbed(law, counts, nearest)


@lru_cache(maxsize=REMEMBERED)
def _written_out(inverse: Inverse, inputs: int) -> ChannelLaw:
    """Return a law as a table. A climb uses it in each round, and a job climbs for each window."""
    return TableLaw(inverse.symbol_law(np.eye(inputs)))


def _filled(support: Support, counts: Counts) -> Floats:
    falling = np.sort(counts)[..., ::-1].astype(np.float64)
    sizes = np.arange(1, counts.shape[-1] + 1)
    totals = np.cumsum(falling, axis=-1)
    gap, other = float(support.own - support.other), float(support.other)
    per_count = (gap + sizes * other) / totals
    positive = np.count_nonzero(falling * per_count > other, axis=-1, keepdims=True)
    shares: Floats = np.maximum(0.0, (counts * np.take_along_axis(per_count, positive - 1, axis=-1) - other) / gap)
    return shares
