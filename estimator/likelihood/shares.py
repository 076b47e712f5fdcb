"""Maximum likelihood on the simplex: the shares, none negative and of sum 1, that make the tally likeliest.

They are biased where the simplex cuts (near 0 and 1), which is why they stand beside the unbiased estimates and are
named as such.

Where every symbol supports one value the solution is exact: by the conditions of Karush, Kuhn and Tucker, the share of
a value above a common level is linear in its count and the others are 0, as in filling a vessel with water (Boyd &
Vandenberghe 2004, "Convex optimization", example 5.2). Everywhere else it is found by a climb, from the point of the
simplex that is nearest to the unbiased estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from estimator.inverse.protocol import Inverse
from estimator.inverse.support import Support
from estimator.likelihood.projected_gradient import Law, climbed
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.simplex import nearest_shares

WRITTEN_OUT = 2**17
"""Probabilities of a law that is written out at most, 1 MB: up to there a table is quicker than the transforms."""

REMEMBERED = 16
"""Laws that are kept written out for the next window of the same metric."""


def maximum_likelihood(inverse: Inverse, counts: Counts) -> Floats:
    """Return the likeliest shares, shape (..., k).

    Args:
        inverse: the channel's.
        counts: the count of each symbol, shape (..., m), in each tally at least one of them above 0.

    """
    if isinstance(inverse, Support):
        return _filled(inverse, counts)
    nearest = nearest_shares(inverse.shares(counts, counts.sum(axis=-1, keepdims=True)))
    law: Law = inverse
    if counts.shape[-1] * nearest.shape[-1] <= WRITTEN_OUT:
        law = _written_out(inverse, nearest.shape[-1])
    return climbed(law, counts, nearest)


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A law written out: the probability of each symbol given each input, shape (k, m)."""

    probabilities: Floats

    def symbol_law(self, shares: Floats) -> Floats:
        """See `Law`."""
        law: Floats = shares @ self.probabilities
        return law

    def expectations(self, values: Floats, /) -> Floats:
        """See `Law`."""
        expected: Floats = values @ self.probabilities.T
        return expected


@lru_cache(maxsize=REMEMBERED)
def _written_out(inverse: Inverse, inputs: int) -> Law:
    """Return a law that is written out: a climb asks for it in each of its rounds, and a job climbs for each window."""
    return _Table(inverse.symbol_law(np.eye(inputs)))


def _filled(support: Support, counts: Counts) -> Floats:
    falling = np.sort(counts)[..., ::-1].astype(np.float64)
    sizes = np.arange(1, counts.shape[-1] + 1)
    totals = np.cumsum(falling, axis=-1)
    gap, other = float(support.own - support.other), float(support.other)
    per_count = (gap + sizes * other) / totals
    positive = np.count_nonzero(falling * per_count > other, axis=-1, keepdims=True)
    shares: Floats = np.maximum(0.0, (counts * np.take_along_axis(per_count, positive - 1, axis=-1) - other) / gap)
    return shares
