"""The interval of a quantile: the answers at which no stretch of the range rejects it.

From the lowest point up, each is tested: is F surely below the probability there? The first point
that is not ends the search, so that only one true hypothesis is ever at stake (fixed-sequence
testing; Maurer, Hothorn & Lehmacher 1995; Wiens 2003, "A fixed sequence Bonferroni procedure for
testing multiple endpoints"). The upper end is found in the same way from the highest point down.
"""

from __future__ import annotations

from estimator.distribution_intervals.stretches import TallyStretches


def quantile_interval(tally: TallyStretches, probability: float, family: int = 1) -> tuple[float, float]:
    """Return the interval of a quantile, on the scale of the domain.

    Args:
        tally: its stretches.
        probability: above 0 and below 1.
        family: the number of intervals that are to hold together.

    """
    points, is_of_points = tally.stretches.points, tally.stretches.histogram.is_of_points
    after, before = tally.after, tally.before
    _, highs = after.limits(((probability - after.fitted) / after.errors).argmax(axis=0), family)
    lows, _ = before.limits(((before.fitted - probability) / before.errors).argmax(axis=0), family)
    reaches, is_reached = highs[:-1] >= probability, lows[:-1] >= probability
    first = int(reaches.argmax()) if reaches.any() else points.size - 1
    last = points.size - 1 - (is_reached.size if is_reached.all() else int((~is_reached[::-1]).argmax()))
    low = first if is_of_points else max(0, first - 1)
    return float(points[low]), float(points[max(low, last)])
