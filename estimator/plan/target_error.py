"""Target standard errors, and the smallest effects that a number of reports can detect.

A share counts as detected if its 95% interval lies above 0. The interval is not corrected for
multiple comparisons. The smallest detectable share is the share that is detected with a probability
of 80%.

A report *supports* a value if its symbol is more likely for this value than for most others. With
some mechanisms, the number of supporting reports is binomial. The smallest detectable share is then
found in two steps:

1. Find the smallest number of supporting reports for which the interval of the share lies above 0.
2. Find the share for which the number of supporting reports reaches this minimum in 80% of cases.

With other mechanisms, the estimate is treated as normally distributed, with the largest possible
variance for the share.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Final

import numpy as np

from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of
from estimator.decoders.decoder import Squares
from estimator.statistics.confidence import EXACT_BELOW, FEW, POWER, Z_OF_POWER, Z, binomial_tail, bisected
from estimator.statistics.intervals import at_most, binomial_intervals

USUAL: Final = 0.01
"""The default target error: 0.01 for a share, or 1% of the range for a mean."""


def unit_variance(metric: Metric) -> float:
    """Return the variance of a metric's figure from a single report, in squared units.

    The figure is a share, or the mean for a metric without shares. The result is the largest
    variance for any distribution of answers. The variance from n reports is this variance divided
    by n.
    """
    variance = analysis_of(metric).report_variance
    return math.inf if variance is None else variance


def usual_variance(metric: Metric) -> float:
    """Return the variance of a metric's figure from a single report, in squared units.

    For a share, all shares are assumed to be equal. For a mean, the result is the largest variance
    for any distribution of answers. ``mechanism = "auto"`` chooses the mechanism that minimizes
    this variance, because this variance decreases continuously with epsilon. In contrast, the
    worst-case variance of a share jumps at some epsilons. At these epsilons, the design with the
    smallest worst-case variance changes from one that favors rare values to one that favors common
    values, or back.
    """
    analysis = analysis_of(metric)
    squares = analysis.squares
    return unit_variance(metric) if squares is None else squares.uniform * analysis.factor**2


def usual_error(metric: Metric) -> float:
    """Return the default target error of a metric, in the metric's unit."""
    analysis = analysis_of(metric)
    return USUAL if analysis.squares is not None else USUAL * analysis.width


def reports_needed(variance: float, error: float) -> int:
    """Return the number of reports at which the standard error meets the target ``error``.

    ``variance`` is the variance of the figure from a single report.
    """
    return max(1, math.ceil(Fraction(variance) / Fraction(error) ** 2))  # a quotient of floats could overflow


Z_OF_NINE_IN_TEN: Final = NormalDist().inv_cdf(0.9)
"""The normal quantile at level 0.9. The smallest difference between strata that a plan states is
detected in 9 of 10 cases. The smallest share that a plan states is detected in only 8 of 10 cases.
The requirement for strata is higher, because people also act on the absence of a difference between
strata, such as two releases of an app.
"""


def smallest_difference(variance: float, reports: int) -> float | None:
    """Return the smallest difference between two strata that is detected in 9 of 10 cases.

    ``variance`` is the largest possible variance of the figure from a single report. Each stratum
    has ``reports`` reports. A difference is detected if its 95% interval excludes 0. The interval
    is not corrected for other comparisons. The result is None if there are no reports.
    """
    return None if reports == 0 else (Z + Z_OF_NINE_IN_TEN) * math.sqrt(2 * variance / reports)


def smallest_share(squares: Squares, reports: int) -> float | None:
    """Return the smallest share that is detected in 80% of cases.

    Return None if even the share 1 is detected in fewer cases.

    ``squares`` contains the channel's mean squared scores, which determine the variance of a share.
    """
    if reports < squares.metrics:
        return None
    if squares.support is None:
        return _normal(squares, reports)
    reports //= squares.metrics
    own, other = squares.support
    count = least_count(other, reports)
    if count is None or not _is_reached(count, reports, own):
        return None
    enough = bisected(partial(_is_reached, count, reports), other, own)
    return (enough - other) / (own - other)


def least_count(other: float, reports: int) -> int | None:
    """Return the smallest number of supporting reports at which a share is detected.

    With this number, the interval for the probability of a supporting report lies above ``other``.
    ``other`` is the probability that a report supports a given value although the device has
    another value. The result is None if even ``reports`` supporting reports are too few.
    """

    def is_above(count: int) -> bool:
        return bool(binomial_intervals(np.array([count]), reports)[0][0] > other)

    too_few, enough = 0, reports
    if not is_above(enough):
        return None
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if is_above(middle) else (middle, enough)
    return enough


def _is_reached(count: int, reports: int, probability: float) -> bool:
    if reports < EXACT_BELOW or count <= FEW:
        return at_most(count - 1, reports, probability) <= 1 - POWER
    return bool(binomial_tail(count, reports, probability) >= POWER)


def _normal(squares: Squares, reports: int) -> float | None:
    threshold = Z * math.sqrt(squares.variance(0.0) / reports)

    def is_seen(share: float) -> bool:
        return share - Z_OF_POWER * math.sqrt(squares.variance(share) / reports) >= threshold

    if reports < squares.least_reports or not is_seen(1.0):
        return None
    return bisected(is_seen, 0.0, 1.0)
