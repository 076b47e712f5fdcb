"""Score intervals of Wilson's kind, and intervals for bounded variables."""

from __future__ import annotations

import math

import numpy as np

from estimator.statistics.arrays import Floats, Reports
from estimator.statistics.confidence import tail_of, z_of


def score_intervals(
    shares: Floats, own: Floats | float, other: Floats | float, reports: Reports, family: int = 1
) -> tuple[Floats, Floats]:
    """Return the shares that a score test does not reject, not clipped.

    A report's score for a share has the mean square ``own`` for its sender's answer, and at most
    ``other`` for other values. The variance is therefore at most quadratic in the share, and
    (estimate - share)**2 = z**2 * variance / n is a quadratic equation.
    """
    return _solved(shares, own, other, z_of(family) ** 2 / reports)


def _solved(shares: Floats, own: Floats | float, other: Floats | float, scale: Floats | float) -> tuple[Floats, Floats]:
    """Return the shares with (estimate - share)**2 = ``scale`` * the variance of one report."""
    centre = shares + scale * (own - other) / 2
    half_width = np.sqrt(np.maximum(0.0, centre**2 - (1 + scale) * (shares**2 - scale * other)))
    return (centre - half_width) / (1 + scale), (centre + half_width) / (1 + scale)


def bounded_intervals(  # noqa: PLR0913, PLR0917 as score_intervals, and the span
    shares: Floats, own: Floats | float, other: Floats | float, span: Floats | float, reports: Reports, family: int = 1
) -> tuple[Floats, Floats]:
    """Return intervals that hold at every truth, whatever the law of a report's score, not clipped.

    They hold the shares for which the estimate deviates no farther than two bounds allow:
    Hoeffding's by the span, and Bernstein's by the variance, which is as in `score_intervals`
    (Boucheron, Lugosi & Massart 2013, "Concentration inequalities", theorem 2.8 and corollary
    2.11). With L the logarithm of the tail's inverse, n t**2 / 2 (variance + span t / 3) is at
    least L for t = sqrt(2 L variance / n) + 2 span L / (3 n).
    """
    scale = -2 * math.log(tail_of(family)) / reports
    shift, reach = span * scale / 3, hoeffding_half_width(span, reports, family)
    lower, upper = shares - shift, shares + shift  # nearer shares are held whatever their variance
    low = np.maximum(np.minimum(_solved(lower, own, other, scale)[0], lower), shares - reach)
    high = np.minimum(np.maximum(_solved(upper, own, other, scale)[1], upper), shares + reach)
    return low, np.maximum(low, high)


def hoeffding_half_width(span: Floats | float, reports: Reports, family: int = 1) -> Floats | float:
    """Return the largest deviation of a mean of bounded scores (Hoeffding 1963, theorem 2)."""
    half_width: Floats | float = span * np.sqrt(-math.log(tail_of(family)) / (2 * reports))
    return half_width
