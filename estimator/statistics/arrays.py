"""The array types of the estimator, and the projection of shares onto valid shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Reports = int | NDArray[np.int64]
"""The number of reports n of one tally, or an array of shape (tallies, 1) for many tallies."""

Counts = NDArray[np.int64]


def nearest_shares(shares: Floats) -> Floats:
    """Return the nearest shares that are at least 0 and add up to 1, shape (..., k).

    The result minimizes the sum of squared differences from ``shares``. For example, (0.7, 0.5,
    -0.1) becomes (0.6, 0.4, 0). The same amount is subtracted from all shares, and negative results
    become 0 (Duchi, Shalev-Shwartz, Singer & Chandra 2008, "Efficient projections onto the l1-ball
    for learning in high dimensions", figure 1).
    """
    shares = shares - shares.max(axis=-1, keepdims=True)  # keeps the last digits of large equal shares
    falling = np.sort(shares)[..., ::-1]
    levels = (np.cumsum(falling, axis=-1) - 1) / np.arange(1, shares.shape[-1] + 1)
    positive = np.count_nonzero(falling > levels, axis=-1, keepdims=True)
    nearest: Floats = np.maximum(0.0, shares - np.take_along_axis(levels, positive - 1, axis=-1))
    return nearest
