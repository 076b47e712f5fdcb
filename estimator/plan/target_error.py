"""What is wanted of a metric: the standard error, of a share where it has shares and otherwise of the mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from client_sdk.protocol import Metric
from estimator.plan.variance import mean_range, mean_variance, share_factor, squares_of

WANTED: Final = 0.01
"""The error that is wanted where none is named: of a share one in a hundred, of a mean one percent of its range."""


def unit_variance(metric: Metric) -> float:
    """Return the variance of one report in the worst case, in the metric's units: of a share, else of the mean."""
    squares = squares_of(metric.channel)
    if squares is not None and metric.domain.labels:
        return squares.worst * share_factor(metric) ** 2
    variance = mean_variance(metric)
    return math.inf if variance is None else variance * mean_range(metric) ** 2


def usual_variance(metric: Metric) -> float:
    """Return the variance of one report, in the metric's units: of a share where all are alike, else as above.

    It is also what ``auto`` chooses a mechanism by, so that it falls with epsilon without leaps; the worst case does
    not, because at some epsilons a design takes over that is better for rare values and worse for common ones.
    """
    squares = squares_of(metric.channel)
    if squares is not None and metric.domain.labels:
        return squares.uniform * share_factor(metric) ** 2
    return unit_variance(metric)


def usual_error(metric: Metric) -> float:
    """Return the error that is wanted where none is named."""
    return WANTED if metric.domain.labels and squares_of(metric.channel) else WANTED * mean_range(metric)


def reports_needed(variance: float, error: float) -> int:
    """Return how many reports bring the standard error down to a wanted one."""
    return max(1, math.ceil(Fraction(variance) / Fraction(error) ** 2))  # floats would overflow
