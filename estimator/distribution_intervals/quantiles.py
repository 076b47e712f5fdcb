"""The intervals of quantiles: the answers at which no stretch of the range rejects them.

From the lowest point up, each is tested: is F surely below the probability there? The first point
that is not ends the search, so that only one true hypothesis is ever at stake (fixed-sequence
testing; Maurer, Hothorn & Lehmacher 1995; Wiens 2003, "A fixed sequence Bonferroni procedure for
testing multiple endpoints"). The upper end is found in the same way from the highest point down.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.distribution_intervals.stretches import TallyStretches


def quantile_intervals(
    tally: TallyStretches, probabilities: Sequence[float], family: int = 1
) -> list[tuple[float, float]]:
    """Return the intervals of quantiles, on the scale of the domain.

    Args:
        tally: its stretches.
        probabilities: above 0 and below 1.
        family: the number of intervals that are to hold together.

    """
    points, is_of_points = tally.stretches.points, tally.stretches.histogram.is_of_points
    after, before = tally.after, tally.before
    levels = np.array(probabilities)[:, np.newaxis, np.newaxis]
    _, highs = after.limits(((levels - after.fitted) / after.errors).argmax(axis=1), family)
    lows, _ = before.limits(((before.fitted - levels) / before.errors).argmax(axis=1), family)
    intervals = []
    for probability, high, low in zip(probabilities, highs, lows, strict=True):
        reaches, is_reached = high[:-1] >= probability, low[:-1] >= probability
        first = int(reaches.argmax()) if reaches.any() else points.size - 1
        last = points.size - 1 - (is_reached.size if is_reached.all() else int((~is_reached[::-1]).argmax()))
        least = first if is_of_points else max(0, first - 1)
        intervals.append((float(points[least]), float(points[max(least, last)])))
    return intervals
