"""Maximum likelihood on the simplex: the shares, none negative and of sum 1, that make the tally likeliest.

They are biased where the simplex cuts (near 0 and 1), which is why they stand beside the unbiased estimates and are
named as such. Where every symbol supports one value the solution is exact: by the conditions of Karush, Kuhn and
Tucker, the share of a value above a common level is linear in its count and the others are 0, as in filling a vessel
with water (Boyd & Vandenberghe 2004, "Convex optimization", example 5.2). Its cost depends on k alone; expectation
maximisation would need about 1 / (p - q)**2 rounds, millions at a small epsilon.
"""

from __future__ import annotations

import numpy as np

from estimator.inverse.support import Floats, Support
from estimator.tallies import Counts


def maximum_likelihood(support: Support, counts: Counts) -> Floats:
    """Return the likeliest shares, shape (k,).

    Args:
        support: the channel's two probabilities.
        counts: the count of each symbol, shape (k,), at least one of them above 0.

    """
    falling = np.sort(counts)[::-1].astype(np.float64)
    sizes = np.arange(1, counts.size + 1)
    totals = np.cumsum(falling)
    gap, other = float(support.own - support.other), float(support.other)
    per_count = (gap + sizes * other) / totals
    positive = int(np.count_nonzero(falling * per_count > other))
    shares: Floats = np.maximum(0.0, (counts * per_count[positive - 1] - other) / gap)
    return shares
