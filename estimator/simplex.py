"""The simplex: shares that are possible together, none negative and of sum 1."""

from __future__ import annotations

import numpy as np

from estimator.intervals import Floats


def nearest_shares(shares: Floats) -> Floats:
    """Return the point of the simplex with the least sum of squared differences from ``shares``, shape (k,).

    All shares are lowered by one level, and what would be negative is 0 (Duchi, Shalev-Shwartz, Singer & Chandra 2008,
    "Efficient projections onto the l1-ball for learning in high dimensions", figure 1).
    """
    shares = shares - shares.max()  # the level takes away what all have in common; its digits would be lost
    falling = np.sort(shares)[::-1]
    levels = (np.cumsum(falling) - 1) / np.arange(1, shares.size + 1)
    positive = int(np.count_nonzero(falling > levels))
    nearest: Floats = np.maximum(0.0, shares - levels[positive - 1])
    return nearest
