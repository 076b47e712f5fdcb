"""Intervals for shares of ranges, the distribution function, quantiles and moments.

F is the distribution function of the answers: F(x) is the share of answers up to x. Devices round
their answers to the points of a grid, and a cell lies between two neighboring points. The mean of F
over some successive cells limits F at the ends of these cells, as the package's docstring explains.

**Shares of ranges.** The share of answers within a range is F at its end minus F at its start. The
upper limit of this share uses means over cells outside the range. The lower limit uses means over
cells within the range. The limits are valid whether or not an answer exactly at an end is counted.
A range of a single cell has no room for one mean at each end, so the lower limit of its share is 0.

**The band** is a set of simultaneous limits of F at some points of the grid. F never falls. Between
two points, F therefore lies between the lower limit at the point before and the upper limit at the
point after.

**Quantiles.** For example, F reaches the probability 1/2 at the median. The search for the lower
end of the median's interval starts from the lowest point. A test at each point asks whether F is
surely below 1/2 there. The search ends at the first point where this is not certain. The lower end
is wrong only if the test at one particular point is wrong: the first point at which F is not below
1/2. This method is called fixed-sequence testing (Maurer, Hothorn & Lehmacher 1995; Wiens 2003, "A
fixed sequence Bonferroni procedure for testing multiple endpoints"). The search for the upper end
starts from the highest point.

The test at a point combines several means of F, over ranges of different numbers of cells. With few
reports, the error probabilities of all these means add up to half of the interval's error
probability (Bonferroni). With more reports, means with too much noise are omitted
(`Ranges.useful`), and `Ranges.tests` sets the error probabilities of the other means. In
measurements, at most 5% of all tallies had a wrong lower or upper end, even if no answers were
close to a quantile. There is no proof of this limit.

**Moments** are the variance of all answers, and the mean of the answers within a range.
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
    """Scores of the symbols, for limits of the distribution function F at some points of a grid.

    Attributes:
        below: for each point, scores for the mean of F over some cells before the point, shape (m,
            points). This mean is at most F just below the point.
        above: for each point, scores for the mean of F over some cells after the point, shape (m,
            points). This mean is at least F at the point.
        reach_below: the number of averaged cells before each point, shape (points,).
        reach_above: the number of averaged cells after each point, shape (points,).
    """

    below: Floats
    above: Floats
    reach_below: Places
    reach_above: Places

    @classmethod
    def at(cls, tally: TallyRanges, places: Places, family: int) -> Edges:
        """Return the scores that are expected to give the tightest limits of F at certain points.

        F is the distribution function, and ``places`` contains the indices of the points. At index
        -1, before the first point, F is 0. At the last point, F is 1.
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
    """Return the lower and upper limits of the shares of ranges, each of shape (ranges,).

    Args:
        tally: the tally, with its estimates for ranges of the grid.
        firsts: the index of each range's first point. For counts, this is the first count.
        lasts: the index of each range's last point. For counts, this is the last count. For other
            numbers, this index is above the first index.
        family: the number of simultaneous 95% intervals.
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
    """Return, for each range, the index of the last point before the answers of the range.

    The index is -1 if no point is before the answers. If answers are counts and a range begins with
    the count 3, the index is 2.
    """
    return np.where((firsts == 0) | tally.ranges.histogram.is_of_points, firsts - 1, firsts)


def _scores(tally: TallyRanges, side: Side, chosen: Places, places: Places) -> Floats:
    """Return the scores for the distribution function's mean over some cells.

    For every point of the grid, ``chosen`` contains the index in `WIDTHS` of the number of cells.
    ``places`` are the indices of the points in the result, which has shape (m, points).
    """
    widths = chosen[places]
    integrals = tally.ranges.scores.integrals
    sums = integrals[:, side.stops[widths, places]] - integrals[:, side.starts[widths, places]]
    scores: Floats = (sums + side.beyond[widths, places]) / WIDTHS[widths]
    return scores


BAND_CELLS = 32
"""The maximum number of parts into which a band divides the range of the answers."""


def band_places(points: int) -> Places:
    """Return the indices of the points of a band."""
    step = -(-(points - 1) // BAND_CELLS)
    return np.unique(np.append(np.arange(0, points, step), points - 1))


def band(tally: TallyRanges, places: Places, family: int = 1) -> tuple[Floats, Floats]:
    """Return simultaneous limits of the distribution function at some points, shape (places,).

    ``places`` are the indices of the points, in rising order. ``family`` is the number of
    simultaneous 95% intervals. The whole band counts as one interval.
    """
    together = places.size * family
    rising, falling = tally.chosen(together)
    _, highs = tally.after.limits(rising, together)
    lows, _ = tally.before.limits(falling, together)
    high = np.minimum.accumulate(highs[places][::-1])[::-1]
    low = np.maximum.accumulate(lows[places])
    is_last = places == tally.ranges.points.size - 1
    low[is_last] = high[is_last] = 1.0  # all answers lie within the range
    high = np.clip(high, 0.0, 1.0)
    return np.minimum(np.clip(low, 0.0, 1.0), high), high


def quantile_intervals(
    tally: TallyRanges, probabilities: Sequence[float], family: int = 1
) -> list[tuple[float, float]]:
    """Return the intervals of quantiles, in the unit of the answers.

    ``probabilities`` are above 0 and below 1. ``family`` is the number of simultaneous 95%
    intervals.
    """
    points, is_of_points = tally.ranges.points, tally.ranges.histogram.is_of_points
    lower = [_joint(tally, probability, family) for probability in probabilities]
    upper = [_joint(tally, 1 - probability, family) for probability in probabilities]
    highs = {joint: tally.after.nearest(*joint)[1] for joint in set(lower)}
    lows = {joint: tally.before.nearest(*joint)[0] for joint in set(upper)}
    intervals = []
    for probability, of_lower, of_upper in zip(probabilities, lower, upper, strict=True):
        high, low = highs[of_lower], lows[of_upper]
        reaches, is_reached = high[:-1] >= probability, low[:-1] >= probability
        first = int(reaches.argmax()) if reaches.any() else points.size - 1
        last = points.size - 1 - (is_reached.size if is_reached.all() else int((~is_reached[::-1]).argmax()))
        least = first if is_of_points else max(0, first - 1)
        intervals.append((float(points[least]), float(points[max(least, last)])))
    return intervals


def _joint(tally: TallyRanges, reach: float, family: int) -> tuple[float, int]:
    """Return two settings of the test at each point, for one end of a quantile's interval.

    * the number of tests that share the error probability
    * the index in `WIDTHS` of the smallest number of cells that the test uses
    """
    reports = int(tally.counts.sum())
    if reports < EXACT_BELOW:
        return family * WIDTHS.size, 0
    first = tally.ranges.useful(reach, reports, family)
    return family * float(tally.ranges.tests[first]), first


SMALL_SHARE: Final = 100
"""The number by which `variance_interval` divides the error probability for the mean's limits."""

STEPS: Final = 128
"""The number of steps in which `mean_within` searches a range for the ends of the interval."""


def variance_interval(tally: TallyRanges, family: int = 1) -> tuple[float, float]:
    """Return the interval of the variance of the answers, in squared units of the answers.

    For any number c, the variance is the difference of two terms. The first term is the mean
    squared distance of the answers from c. The second term is the squared distance of the answers'
    mean from c. This function uses the estimated mean as c, so the second term is small. Rounding
    to the grid adds at most a quarter of a cell's squared length to the first term.
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
    most = 0.25  # the maximum for answers in a range of width 1
    high = min(most, max(0.0, high))
    low = min(high, max(0.0, low - rounding - deviation**2))
    return low * width**2, high * width**2


def mean_within(tally: TallyRanges, first: int, last: int, family: int = 1) -> tuple[float, float]:
    """Return the interval of the mean of the answers within a range, in the unit of the answers.

    At the mean c, the signed distances of the answers in the range add up to 0. Let F be the
    distribution function. By partial integration, the sum for a range from a to b is (b - c) F(b) +
    (c - a) F(a), minus the integral of F from a to b. The interval contains each c for which the
    limits of F allow the sum 0.

    Args:
        tally: the tally, with its estimates for ranges of the grid.
        first: the index of the point a, the start of the range. For counts, a is the first count.
        last: the index of the point b, the end of the range. For counts, b is the last count.
        family: the number of simultaneous 95% intervals.
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
    """Return the first and the last place at which a falling function may be 0.

    Args:
        places: the places in rising order, shape (places,).
        lows: the lower limit of the function at each place, shape (places,).
        highs: the upper limit of the function at each place, shape (places,).
    """
    is_above, is_below = lows > 0, highs < 0
    least = int(np.flatnonzero(~is_above)[0]) if not is_above.all() else places.size
    most = int(np.flatnonzero(~is_below)[-1]) if not is_below.all() else -1
    return float(places[max(0, least - 1)]), float(places[min(places.size - 1, most + 1)])


def _distances(ends: Floats, within: Floats, centers: Floats) -> Floats:
    """Return the scores for the sum of signed distances in `mean_within`, shape (m, centers).

    The unit of distances is the width of the range. F is the distribution function.

    Args:
        ends: the scores for F at the start and at the end of the range, shape (m, 2).
        within: the scores for the integral of F over the range, shape (m,).
        centers: the numbers c, from 0 (the start of the range) to 1 (its end), shape (centers,).
    """
    scores: Floats = (1 - centers) * ends[:, [1]] + centers * ends[:, [0]] - within[:, np.newaxis]
    return scores
