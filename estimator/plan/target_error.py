"""The target of a metric: the standard error of a share, or else of the mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of

USUAL: Final = 0.01
"""The target where none is named: one in a hundred for a share, one percent of the range for a
mean.
"""


def unit_variance(metric: Metric) -> float:
    """Return the worst variance of one report, in squared units.

    It is that of a share, of a named text, or else of the mean.
    """
    variance = analysis_of(metric).report_variance
    return math.inf if variance is None else variance


def usual_variance(metric: Metric) -> float:
    """Return the variance of one report where all shares are alike; of a mean, the worst one.

    In squared units.

    ``auto`` chooses mechanisms by this variance, so it falls with epsilon without leaps. The worst
    variance leaps: at some epsilons a design takes over that is better for rare values and worse
    for common ones.
    """
    analysis = analysis_of(metric)
    squares = analysis.squares
    return unit_variance(metric) if squares is None else squares.uniform * analysis.factor**2


def usual_error(metric: Metric) -> float:
    """Return the target where none is named."""
    analysis = analysis_of(metric)
    return USUAL if analysis.squares is not None else USUAL * analysis.width


def reports_needed(variance: float, error: float) -> int:
    """Return how many reports bring the standard error down to a target.

    Args:
        variance: of one report.
        error: the target.

    """
    return max(1, math.ceil(Fraction(variance) / Fraction(error) ** 2))  # floats would overflow
