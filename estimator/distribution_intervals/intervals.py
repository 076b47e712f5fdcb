"""Intervals of a distribution's figures: shares of ranges, the band, quantiles and moments.

**Ranges.** A share is a difference of the distribution function between two points. An upper limit
uses a range of the grid after the requested one and one before it, so the requested range lies
between them. A lower limit uses ranges within it. They are valid whether or not an answer at an end
of the range belongs to it. The cell between two neighboring points contains no two ranges: rounded
answers cannot show that an answer lies within it, so its lower limit is 0.

**The band** is valid at all points of the grid simultaneously. Between two points the function lies
between the lower limit of the one before and the upper limit of the next, because it never falls.

**Quantiles.** The interval consists of the answers that no range of the grid rejects. From the
lowest point up, each point is tested: is F surely below the probability there? The first point that
fails ends the search, so only one true hypothesis can ever cause an error (fixed-sequence testing;
Maurer, Hothorn & Lehmacher 1995; Wiens 2003, "A fixed sequence Bonferroni procedure for testing
multiple endpoints"). The upper end is found in the same way from the highest point down. All ranges
at a point test it at once; none is selected by a fit. With few reports their errors add up to half
of the interval's (Bonferroni). With more, their level limits the errors of each end to 5% of all
tallies (`Ranges.tests`). Both ends together err in at most 5%. This was measured (in populations
with a quantile next to a gap), not proved: inside the range an end errs only if the tests of all
points beyond it also err.

**Moments** are the variance of the answers, and the mean of those within a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from estimator.distribution_intervals.ranges import WIDTHS, Places, Side, TallyRanges
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Scores for F at some points of the grid: one for a lower limit, one for an upper limit.

    Attributes:
        below: a score whose expectation is not above F just below the point, shape (m, points).
        above: a score whose expectation is not below F at the point.
        reach_below: the cells of the range of each score of ``below``, shape (points,).
        reach_above: the same of ``above``.

    """

    below: Floats
    above: Floats
    reach_below: Places
    reach_above: Places

    @classmethod
    def at(cls, tally: TallyRanges, places: Places, family: int) -> Edges:
        """Return the scores with the narrowest expected limits at some points.

        At -1, before the first point, F is 0; at the last point it is 1.
        """
        sides = tally.ranges
        rising, falling = tally.chosen(family)
        below, above = (
            _scores(tally, side, chosen, places) for side, chosen in ((sides.before, falling), (sides.after, rising))
        )
        for ends in (below, above):
            ends[:, places < 0] = 0.0
            ends[:, places == sides.points.size - 1] = 1.0
        is_inner = (places >= 0) & (places < sides.points.size - 1)
        return cls(below, above, WIDTHS[falling[places]] * is_inner, WIDTHS[rising[places]] * is_inner)


def shares_of_ranges(tally: TallyRanges, firsts: Places, lasts: Places, family: int = 1) -> tuple[Floats, Floats]:
    """Return the limits of the shares of ranges of answers, each of shape (ranges,), within 0..1.

    Args:
        tally: its ranges.
        firsts: the point at which each range begins; for counts, its first count.
        lasts: the point at which it ends, above the first; for counts, its last count.
        family: the number of intervals that must be valid simultaneously.

    """
    is_of_points = tally.ranges.histogram.is_of_points
    before_range = place_before(tally, firsts)
    starts, stops = Edges.at(tally, before_range, family), Edges.at(tally, lasts, family)
    high = np.clip(tally.limits_of(stops.above - starts.below, family)[1], 0.0, 1.0)
    cells = lasts - before_range + is_of_points - (before_range < 0) * (not is_of_points)
    is_within = starts.reach_above + stops.reach_below <= cells
    low = np.zeros_like(high)
    low[is_within] = tally.limits_of((stops.below - starts.above)[:, is_within], family)[0]
    return np.clip(low, 0.0, high), high


def place_before(tally: TallyRanges, firsts: Places) -> Places:
    """Return the last point at which F excludes the ranges that begin at some points."""
    return np.where((firsts == 0) | tally.ranges.histogram.is_of_points, firsts - 1, firsts)


def _scores(tally: TallyRanges, side: Side, chosen: Places, places: Places) -> Floats:
    """Return the scores of the chosen range at some points, shape (m, points)."""
    widths = chosen[places]
    integrals = tally.ranges.scores.integrals
    sums = integrals[:, side.stops[widths, places]] - integrals[:, side.starts[widths, places]]
    scores: Floats = (sums + side.beyond[widths, places]) / WIDTHS[widths]
    return scores


BAND_CELLS = 32
"""The maximum number of parts of the range, at whose ends a band is computed. More parts would
widen the band, fewer would make its steps coarse.
"""


def band_places(points: int) -> Places:
    """Return the points at which a band is computed."""
    step = -(-(points - 1) // BAND_CELLS)
    return np.unique(np.append(np.arange(0, points, step), points - 1))


def band(tally: TallyRanges, places: Places, family: int = 1) -> tuple[Floats, Floats]:
    """Return simultaneous limits of F at some points, each of shape (places,).

    Args:
        tally: its ranges.
        places: the indices of the points, rising.
        family: the number of bands or intervals that must be valid simultaneously.

    """
    together = places.size * family
    rising, falling = tally.chosen(together)
    _, highs = tally.after.limits(rising, together)
    lows, _ = tally.before.limits(falling, together)
    high = np.minimum.accumulate(highs[places][::-1])[::-1]
    low = np.maximum.accumulate(lows[places])
    is_last = places == tally.ranges.points.size - 1
    low[is_last] = high[is_last] = 1.0  # every answer is within the range
    high = np.clip(high, 0.0, 1.0)
    return np.minimum(np.clip(low, 0.0, 1.0), high), high


def quantile_intervals(
    tally: TallyRanges, probabilities: Sequence[float], family: int = 1
) -> list[tuple[float, float]]:
    """Return the intervals of quantiles, on the scale of the domain.

    Args:
        tally: its ranges.
        probabilities: above 0 and below 1.
        family: the number of intervals that must be valid simultaneously.

    """
    points, is_of_points = tally.ranges.points, tally.ranges.histogram.is_of_points
    tests = WIDTHS.size if tally.counts.sum() < EXACT_BELOW else tally.ranges.tests
    high, low = tally.after.nearest(family * tests)[1], tally.before.nearest(family * tests)[0]
    intervals = []
    for probability in probabilities:
        reaches, is_reached = high[:-1] >= probability, low[:-1] >= probability
        first = int(reaches.argmax()) if reaches.any() else points.size - 1
        last = points.size - 1 - (is_reached.size if is_reached.all() else int((~is_reached[::-1]).argmax()))
        least = first if is_of_points else max(0, first - 1)
        intervals.append((float(points[least]), float(points[max(least, last)])))
    return intervals


SMALL_SHARE: Final = 100
"""The mean's deviation is bounded by an interval with a hundredth of the error."""

STEPS: Final = 128
"""The number of parts of a range in which the ends of a mean's interval are searched."""


def variance_interval(tally: TallyRanges, family: int = 1) -> tuple[float, float]:
    """Return the limits of the variance, in squared units of the domain.

    The variance is the mean squared distance from any point c, minus the squared distance of the
    mean from c. Here c is the estimated mean. Rounding to the grid adds at most a quarter of a
    squared cell to the mean square.

    Args:
        tally: its ranges.
        family: the number of intervals that must be valid simultaneously.

    """
    points, is_of_points = tally.ranges.points, tally.ranges.histogram.is_of_points
    width = float(points[-1] - points[0])
    positions = (points - points[0]) / width
    of_positions = tally.ranges.scores.contrast(positions)
    center = min(1.0, max(0.0, float(tally.counts @ of_positions / tally.counts.sum())))
    squares = (positions - center) ** 2
    greatest = float(squares.max())
    scores = np.stack([tally.ranges.scores.contrast(squares / greatest)], axis=1)
    low, high = (float(end[0]) * greatest for end in tally.limits_of(scores, family))
    means = tally.limits_of(of_positions[:, np.newaxis], SMALL_SHARE * family)
    deviation = max(abs(float(end[0]) - center) for end in means)
    rounding = 0.0 if is_of_points else float(positions[1]) ** 2 / 4
    most = 0.25  # of answers within a range of width 1
    high = min(most, max(0.0, high))
    low = min(high, max(0.0, low - rounding - deviation**2))
    return low * width**2, high * width**2


def mean_within(tally: TallyRanges, first: int, last: int, family: int = 1) -> tuple[float, float]:
    """Return the limits of the mean of the answers within a range, on the scale of the domain.

    The mean is the c for which the signed distances of the range's answers from c add up to 0.
    Their sum is, by parts, (b - c) F(b) + (c - a) F(a) minus the integral of F from a to b.

    Args:
        tally: its ranges.
        first: the point a at which the range begins; for counts, its first count.
        last: the point b at which it ends; for counts, its last count.
        family: the number of intervals that must be valid simultaneously.

    """
    points = tally.ranges.points
    if first == last:
        return float(points[first]), float(points[last])
    edges = Edges.at(tally, np.array([place_before(tally, np.array([first]))[0], last]), family)
    integrals = tally.ranges.scores.integrals
    within = integrals[:, last] - integrals[:, first]
    centers = np.linspace(0.0, 1.0, STEPS + 1)
    below, above = (_distances(ends, within / (last - first), centers) for ends in (edges.below, edges.above))
    low, _ = tally.limits_of(below, family, is_share=False)
    _, high = tally.limits_of(above, family, is_share=False)
    least, most = where_zero(centers, low, high)
    start, width = float(points[first]), float(points[last] - points[first])
    return start + least * width, start + most * width


def where_zero(places: Floats, lows: Floats, highs: Floats) -> tuple[float, float]:
    """Return the places between which a falling function may be 0, given limits of its values.

    Args:
        places: rising, shape (places,).
        lows: the lower limit at each place, shape (places,).
        highs: the upper limit.

    """
    is_above, is_below = lows > 0, highs < 0
    least = int(np.flatnonzero(~is_above)[0]) if not is_above.all() else places.size
    most = int(np.flatnonzero(~is_below)[-1]) if not is_below.all() else -1
    return float(places[max(0, least - 1)]), float(places[min(places.size - 1, most + 1)])


def _distances(ends: Floats, within: Floats, centers: Floats) -> Floats:
    """Return the scores of the sum of distances, in widths of the range, shape (m, centers).

    Args:
        ends: the scores of F at the start and at the end of the range, shape (m, 2).
        within: the score of the integral of F over the range, in widths, shape (m,).
        centers: from 0, the start of the range, to 1, its end.

    """
    scores: Floats = (1 - centers) * ends[:, [1]] + centers * ends[:, [0]] - within[:, np.newaxis]
    return scores
