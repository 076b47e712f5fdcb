"""Which tallies of a grid's channel are as far from its range as another: many at once, and no nearer than need be.

How far a tally is from some shares is twice the logarithm by which their law is less likely than its own frequencies.
The shares that are nearest come by expectation maximisation. On the way it is known between which ends the least
distance lies, because the logarithm is concave: a step of it shows how much it can still rise at most (Lindsay 1983,
"The geometry of mixture likelihoods", theorem 4.1). Most tallies are told from the other long before they are fitted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimator.inverse.grid import GridLaw
from estimator.likelihood.expectation_maximisation import MAX_LEAPS, extrapolated, stepped
from estimator.likelihood.projected_gradient import SLACK
from estimator.statistics.arrays import Counts, Floats


def as_far(law: GridLaw, inputs: int, counts: Counts, distance: float) -> NDArray[np.bool_]:
    """Return which tallies no population comes nearer to than a distance: shape (tallies, symbols) to (tallies,).

    Those that cannot be told from others at the same distance are taken to be as far.

    Args:
        law: of the symbols given each input.
        inputs: how many there are.
        counts: of the same number of reports each.
        distance: twice a logarithm of a ratio of likelihoods.

    """
    reports = int(counts[0].sum())
    seen, left = counts / reports, np.arange(len(counts))
    far = np.empty(len(counts), dtype=np.bool_)
    shares = np.full((len(counts), inputs), 1 / inputs)
    for _ in range(MAX_LEAPS):
        fitted = law.symbol_law(shares)
        rises = law.expectations(seen / fitted)
        most = 2 * reports * _log_ratio(seen, fitted)
        least = most - 2 * reports * (rises.max(axis=-1) - 1)
        far[left] = most >= distance
        is_open = (most >= distance) & (least < distance) & (most - least > 2 * SLACK * inputs)
        once = shares * rises
        if not is_open.all():
            left, seen, shares, once = left[is_open], seen[is_open], shares[is_open], once[is_open]
        if left.size == 0:
            break
        ahead = extrapolated(shares, once, stepped(law, seen, once, smooth=False))
        shares = stepped(law, seen, ahead, smooth=False)
    return far


def _log_ratio(seen: Floats, fitted: Floats) -> Floats:
    """Return the mean logarithm by which reports are likelier by their own frequencies than by a law."""
    logs: Floats = np.log(np.where(seen > 0, seen / fitted, 1.0))
    ratio: Floats = (seen * logs).sum(axis=-1)
    return ratio
