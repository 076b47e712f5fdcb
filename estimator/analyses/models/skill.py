"""Measures of how well a score predicts a yes-or-no label: correlation, AUC and log-odds.

A score is a weighted sum of a device's features. Among people with the same label, scores are
assumed to be normally distributed. The variance of the scores is assumed to be the same for both
labels, as in linear discriminant analysis (Fisher 1936). The log-odds of "yes" are then a linear
function of the score.

The AUC is the probability that a random person with the label "yes" has a higher score than a
random person with the label "no". Under the same assumptions, the AUC is Phi(distance / root 2).
Phi is the normal distribution function. The distance is the difference between the mean scores of
the two labels, in standard deviations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import student_of

REACH: Final = 8.0
"""The largest distance from the estimate that `possible_share` considers, in standard errors."""

POINTS: Final = 2001
"""The number of points for the integral in `possible_share`.

Doubling this number changes the result by less than 0.1%.
"""

LEAST_SHARE: Final = 1e-6
"""The smallest result of `possible_share`, which limits odds to a million to one."""


def possible_share(estimate: float, error: float) -> float:
    """Return the mean of all shares from 0 to 1, each weighted by its likelihood.

    The result is above 0 and below 1, so it has log-odds. A noisy estimate may lie outside 0..1.

    Args:
        estimate: the unbiased estimate of the share, with a normally distributed error.
        error: the standard error of the estimate, at least 0.
    """
    nearest = min(max(estimate, 0.0), 1.0)
    low, high = max(0.0, nearest - REACH * error), min(1.0, nearest + REACH * error)
    shares = np.linspace(low, high, POINTS)
    squares = (shares - estimate) ** 2 - (nearest - estimate) ** 2
    weights = np.exp(-squares / (2 * max(error, np.finfo(float).tiny ** 0.25) ** 2))
    mean = float((shares * weights).sum() / weights.sum())
    return min(max(mean, LEAST_SHARE), 1 - LEAST_SHARE)


SURE: Final = 4.0
"""The minimum variance of the scores, in standard errors of this variance.

A smaller estimate could be noise around a true variance of 0. Any correlation is then possible
(Fieller 1954).
"""

STEP: Final = 1e-4
"""The change of the correlation, up and down, from which the slope of the AUC is computed."""

LEAST_CORRELATION: Final = 0.01
"""The minimum assumed correlation of score and label.

With this correlation, predicted log-odds hardly vary.
"""

MOST_CORRELATION: Final = 0.99
"""The maximum correlation. A correlation of 1 would make log-odds infinite."""


class Skilled(NamedTuple):
    """The results of one fold of cross-validation.

    `along` and `spread` are as in `Skill`. `label` is the fold's mean label minus the mean label of
    all reports.
    """

    along: float
    spread: float
    label: float


@dataclass(frozen=True, slots=True, eq=False)
class Skill:
    """The association of a score with a label, where "yes" counts as 1 and "no" as -1.

    Attributes:
        label: the mean of the label.
        mean: the mean of the score.
        along: the covariance of score and label.
        spread: the variance of the score.
        deviations_along: each fold's `along` minus the mean of all folds, shape (folds,).
        deviations_spread: each fold's `spread` minus the mean of all folds, shape (folds,).
        deviations_label: each fold's mean label minus `label`, shape (folds,).

    """

    label: float
    mean: float
    along: float
    spread: float
    deviations_along: Floats
    deviations_spread: Floats
    deviations_label: Floats

    @property
    def variance(self) -> float:
        """The variance of the label."""
        return 1 - self.label**2

    @property
    def correlation(self) -> Estimate:
        """The correlation of score and label.

        If the variance of the scores could be noise, there is no estimate, and the interval is
        -1..1.
        """
        if self.spread < SURE * _error_of(self.deviations_spread):
            return Estimate(None, None, -1.0, 1.0)
        scale, folds = math.sqrt(self.spread * self.variance), len(self.deviations_label)
        estimate = _possible(self.along / scale)
        influence = self.deviations_along / scale - estimate * (
            self.deviations_spread / (2 * self.spread) - self.label * self.deviations_label / self.variance
        )
        error = float(influence.std(ddof=1)) / math.sqrt(folds)
        reach = student_of(1, folds - 1) * error
        return Estimate(estimate, error, _possible(estimate - reach), _possible(estimate + reach))

    @property
    def auc(self) -> Estimate:
        """The area under the ROC curve (AUC).

        The AUC is the probability that a random person with the label "yes" has a higher score than
        a random person with the label "no".
        """
        correlation = self.correlation
        at = correlation.estimate
        if at is None:
            return Estimate(None, None, 0.0, 1.0)
        estimate, low, high = map(self._auc_at, (at, correlation.low, correlation.high))
        slope = (self._auc_at(at + STEP) - self._auc_at(at - STEP)) / (2 * STEP)
        return Estimate(estimate, slope * (correlation.standard_error or 0.0), low, high)

    @property
    def log_odds(self) -> tuple[float, float]:
        """The slope and intercept of the log-odds of "yes", as a linear function of the score.

        Three corrections account for noise:

        * `possible_share` estimates the share of "yes".
        * The covariance of score and label is shrunk, depending on its standard error (James &
          Stein 1961).
        * The variance of the score is raised to at least `SURE` times its standard error.

        An uninformative score keeps a small slope, so that predictions still rank people by score.
        """
        share = possible_share((1 + self.label) / 2, _error_of(self.deviations_label) / 2)
        label, variance = 2 * share - 1, 4 * share * (1 - share)
        spread = max(self.spread, SURE * _error_of(self.deviations_spread))
        along = max(
            _shrunk(self.along, _error_of(self.deviations_along)), LEAST_CORRELATION * math.sqrt(spread * variance)
        )
        surely_explained = max(0.0, self.correlation.low) ** 2
        slope = 2 * along / (variance * spread * (1 - surely_explained))
        middle = self.mean - along * label / variance  # halfway between the mean scores of "yes" and "no"
        return slope, math.log(share / (1 - share)) - slope * middle

    def _auc_at(self, correlation: float) -> float:
        distance = 2 * correlation / math.sqrt(self.variance * (1 - correlation**2))
        return NormalDist().cdf(distance / math.sqrt(2))


def _error_of(deviations: Floats) -> float:
    return float(deviations.std(ddof=1)) / math.sqrt(len(deviations))


def _shrunk(estimate: float, error: float) -> float:
    """Return estimate - error**2 / estimate. Returns 0 if the error is not below the estimate."""
    return 0.0 if estimate <= error else estimate - error**2 / estimate


def _possible(correlation: float) -> float:
    return min(max(correlation, -MOST_CORRELATION), MOST_CORRELATION)
