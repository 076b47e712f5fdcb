"""The variance of a number's answers, and the mean of those within a range."""

from __future__ import annotations

from typing import Final

import numpy as np

from estimator.distribution_intervals.ranges import Edges, place_before
from estimator.distribution_intervals.stretches import TallyStretches
from estimator.statistics.arrays import Floats

SMALL_SHARE: Final = 100
"""The mean may stray as far as an interval of a hundredth of the error reaches."""

STEPS: Final = 128
"""Parts of a range between which the ends of a mean's interval are searched."""


def variance_interval(tally: TallyStretches, family: int = 1) -> tuple[float, float]:
    """Return the limits of the variance, in squared units of the domain.

    The variance is the mean square of the distance from any point c, less the square of the mean's
    distance from c. Here c is the estimated mean. Rounding to the grid adds at most a quarter of a
    squared cell to the mean square.

    Args:
        tally: its stretches.
        family: the number of intervals that are to hold together.

    """
    points, is_of_points = tally.stretches.points, tally.stretches.histogram.is_of_points
    width = float(points[-1] - points[0])
    positions = (points - points[0]) / width
    of_positions = tally.stretches.scores.contrast(positions)
    centre = min(1.0, max(0.0, float(tally.counts @ of_positions / tally.counts.sum())))
    squares = (positions - centre) ** 2
    greatest = float(squares.max())
    scores = np.stack([tally.stretches.scores.contrast(squares / greatest)], axis=1)
    low, high = (float(end[0]) * greatest for end in tally.limits_of(scores, family))
    means = tally.limits_of(of_positions[:, np.newaxis], SMALL_SHARE * family)
    stray = max(abs(float(end[0]) - centre) for end in means)
    rounding = 0.0 if is_of_points else float(positions[1]) ** 2 / 4
    most = 0.25  # of answers within a range of width 1
    high = min(most, max(0.0, high))
    low = min(high, max(0.0, low - rounding - stray**2))
    return low * width**2, high * width**2


def mean_within(tally: TallyStretches, first: int, last: int, family: int = 1) -> tuple[float, float]:
    """Return the limits of the mean of the answers within a range, on the scale of the domain.

    The mean is the c at which the distances of the range's answers from c add up to 0. Their sum
    is, by parts, (b - c) F(b) + (c - a) F(a) less the integral of F from a to b.

    Args:
        tally: its stretches.
        first: the point a at which the range begins; of counts, its first count.
        last: the point b at which it ends; of counts, its last count.
        family: the number of intervals that are to hold together.

    """
    points = tally.stretches.points
    if first == last:
        return float(points[first]), float(points[last])
    edges = Edges.at(tally, np.array([place_before(tally, np.array([first]))[0], last]), family)
    integrals = tally.stretches.scores.integrals
    within = integrals[:, last] - integrals[:, first]
    centres = np.linspace(0.0, 1.0, STEPS + 1)
    below, above = (_distances(ends, within / (last - first), centres) for ends in (edges.below, edges.above))
    low, _ = tally.limits_of(below, family, is_share=False)
    _, high = tally.limits_of(above, family, is_share=False)
    least, most = where_zero(centres, low, high)
    start, width = float(points[first]), float(points[last] - points[first])
    return start + least * width, start + most * width


def where_zero(places: Floats, lows: Floats, highs: Floats) -> tuple[float, float]:
    """Return the places between which a falling function can be 0, given limits of its values.

    Args:
        places: rising, shape (places,).
        lows: the lower limit at each place, shape (places,).
        highs: the upper limit.

    """
    is_above, is_below = lows > 0, highs < 0
    least = int(np.flatnonzero(~is_above)[0]) if not is_above.all() else places.size
    most = int(np.flatnonzero(~is_below)[-1]) if not is_below.all() else -1
    return float(places[max(0, least - 1)]), float(places[min(places.size - 1, most + 1)])


def _distances(ends: Floats, within: Floats, centres: Floats) -> Floats:
    """Return the scores, shape (m, centres), of the distances' sum, in widths of the range.

    Args:
        ends: the scores of F at the start and at the end of the range, shape (m, 2).
        within: the score of the integral of F over the range, in widths, shape (m,).
        centres: from 0, the start of the range, to 1, its end.

    """
    scores: Floats = (1 - centres) * ends[:, [1]] + centres * ends[:, [0]] - within[:, np.newaxis]
    return scores
