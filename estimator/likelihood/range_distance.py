"""Which tallies of a grid's channel lie at least a given distance from its range, many at once.

The distance of a tally from some shares is twice the log-likelihood ratio of its own frequencies to
the law of the shares. Expectation maximization finds the nearest shares. Each step also bounds the
least distance from both sides, because the log-likelihood is concave: the step shows how much it
can still rise at most (Lindsay 1983, "The geometry of mixture likelihoods", theorem 4.1). Most
tallies are decided long before they are fitted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.protocol import ChannelLaw
from estimator.likelihood.expectation_maximization import MAX_LEAPS, extrapolated, stepped
from estimator.likelihood.shares import SLACK
from estimator.statistics.arrays import Counts, Floats


def as_far(law: ChannelLaw, inputs: int, counts: Counts, distance: float) -> NDArray[np.bool_]:
    """Return which tallies are at least a distance from every population, shape (tallies,).

    A tally that cannot be told from one at exactly that distance counts as this far.

    Args:
        law: of the symbols given each input.
        inputs: the number of inputs.
        counts: of each symbol, shape (tallies, symbols), with the same sum in each tally.
        distance: twice a log-likelihood ratio.

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
    """Return the mean log-likelihood ratio of reports under their own frequencies to a law."""
    logs: Floats = np.log(np.where(seen > 0, seen / fitted, 1.0))
    ratio: Floats = (seen * logs).sum(axis=-1)
    return ratio
