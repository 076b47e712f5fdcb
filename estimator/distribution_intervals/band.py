"""The band of the distribution function: limits at points of the grid that hold together.

Between two points the function lies between the lower limit of the one before and the upper limit
of the next, because it never falls.
"""

from __future__ import annotations

import numpy as np

from estimator.distribution_intervals.stretches import Places, TallyStretches
from estimator.statistics.arrays import Floats

BAND_CELLS = 32
"""The most parts of the range between whose ends a band is drawn straight on. More parts would
widen the band, fewer would make its steps coarse.
"""


def band_places(points: int) -> Places:
    """Return the points at which a band is given."""
    step = -(-(points - 1) // BAND_CELLS)
    return np.unique(np.append(np.arange(0, points, step), points - 1))


def band(tally: TallyStretches, places: Places, family: int = 1) -> tuple[Floats, Floats]:
    """Return the limits of F at some points, which hold together, each of shape (places,).

    Args:
        tally: its stretches.
        places: of the points, rising.
        family: the number of bands or intervals that are to hold together with this one.

    """
    together = places.size * family
    rising, falling = tally.chosen(together)
    _, highs = tally.after.limits(rising, together)
    lows, _ = tally.before.limits(falling, together)
    high = np.minimum.accumulate(highs[places][::-1])[::-1]
    low = np.maximum.accumulate(lows[places])
    is_last = places == tally.stretches.points.size - 1
    low[is_last] = high[is_last] = 1.0  # every answer is within the range
    high = np.clip(high, 0.0, 1.0)
    return np.minimum(np.clip(low, 0.0, 1.0), high), high
