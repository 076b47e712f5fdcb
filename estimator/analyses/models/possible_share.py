"""A possible share of people from an estimate that noise may have put at an end or beyond."""

from __future__ import annotations

from typing import Final

import numpy as np

REACH: Final = 8.0
"""Standard errors beyond which a share is as good as impossible."""

POINTS: Final = 2001
"""Of the integral: with twice as many it changes by less than a part in a thousand."""

LEAST_SHARE: Final = 1e-6
"""Odds of a million to one: log-odds end there."""


def possible_share(estimate: float, error: float) -> float:
    """Return the mean of all shares from 0 to 1, weighted by how likely they make the estimate.

    The estimate is taken to be normal.

    Well within the ends it is the estimate itself. Where the error is large it is near a half.

    Args:
        estimate: of the share, unbiased.
        error: its standard error, from 0.

    """
    nearest = min(max(estimate, 0.0), 1.0)
    low, high = max(0.0, nearest - REACH * error), min(1.0, nearest + REACH * error)
    shares = np.linspace(low, high, POINTS)
    squares = (shares - estimate) ** 2 - (nearest - estimate) ** 2
    weights = np.exp(-squares / (2 * max(error, np.finfo(float).tiny ** 0.25) ** 2))
    mean = float((shares * weights).sum() / weights.sum())
    return min(max(mean, LEAST_SHARE), 1 - LEAST_SHARE)
