"""The shares of ranges of answers: differences of the distribution function between two points.

An upper limit takes a stretch after the range and one before it, so that the range lies between
them. A lower limit takes stretches within the range. They hold whether or not an answer at an end
of the range belongs to it. The cell between two neighboring points contains no two stretches:
rounded answers cannot show that an answer lies within it, so its lower limit is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.distribution_intervals.stretches import WIDTHS, Places, Side, TallyStretches
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Scores for F at some points of the grid: one limit from below, one from above.

    Attributes:
        below: a score whose expectation is not above F just below the point, shape (m, points).
        above: one whose expectation is not below F at the point.
        reach_below: the cells of the stretch of each score of ``below``, shape (points,).
        reach_above: the same of ``above``.

    """

    below: Floats
    above: Floats
    reach_below: Places
    reach_above: Places

    @classmethod
    def at(cls, tally: TallyStretches, places: Places, family: int) -> Edges:
        """Return the scores that promise the narrowest limits at some points.

        At -1, before the first point, F is 0; at the last point it is 1.
        """
        sides = tally.stretches
        rising, falling = tally.chosen(family)
        below, above = (
            _scores(tally, side, chosen, places) for side, chosen in ((sides.before, falling), (sides.after, rising))
        )
        for ends in (below, above):
            ends[:, places < 0] = 0.0
            ends[:, places == sides.points.size - 1] = 1.0
        is_inner = (places >= 0) & (places < sides.points.size - 1)
        return cls(below, above, WIDTHS[falling[places]] * is_inner, WIDTHS[rising[places]] * is_inner)


def shares_of_ranges(tally: TallyStretches, firsts: Places, lasts: Places, family: int = 1) -> tuple[Floats, Floats]:
    """Return the limits of the shares of ranges of answers, each of shape (ranges,), within 0..1.

    Args:
        tally: its stretches.
        firsts: the point at which each range begins; of counts, its first count.
        lasts: the point at which it ends, above the first; of counts, its last count.
        family: the number of intervals that are to hold together.

    """
    is_of_points = tally.stretches.histogram.is_of_points
    before_range = place_before(tally, firsts)
    starts, stops = Edges.at(tally, before_range, family), Edges.at(tally, lasts, family)
    high = np.clip(tally.limits_of(stops.above - starts.below, family)[1], 0.0, 1.0)
    cells = lasts - before_range + is_of_points - (before_range < 0) * (not is_of_points)
    is_within = starts.reach_above + stops.reach_below <= cells
    low = np.zeros_like(high)
    low[is_within] = tally.limits_of((stops.below - starts.above)[:, is_within], family)[0]
    return np.clip(low, 0.0, high), high


def place_before(tally: TallyStretches, firsts: Places) -> Places:
    """Return the point up to which F does not count the ranges that begin at some points."""
    return np.where((firsts == 0) | tally.stretches.histogram.is_of_points, firsts - 1, firsts)


def _scores(tally: TallyStretches, side: Side, chosen: Places, places: Places) -> Floats:
    """Return the scores of the chosen stretch at some points, shape (m, points)."""
    widths = chosen[places]
    integrals = tally.stretches.scores.integrals
    sums = integrals[:, side.stops[widths, places]] - integrals[:, side.starts[widths, places]]
    scores: Floats = (sums + side.beyond[widths, places]) / WIDTHS[widths]
    return scores
