"""How far the errors of two windows may go against each other, if the same people answered in both.

The people of a window are a sample of the population that a figure is of. Nobody knows whether they
answered in the other window, too, nor how. Let x and y be one person's answers in the two windows,
on a scale from 0 to 1, with the means a and b in the population.

* x·y and (1 - x)·(1 - y) are never below 0. The covariance of x and y is therefore never below
  -min(a·b, (1 - a)·(1 - b)). People who say yes once and no the next time reach it.
* It is never below minus the root of the product of their variances (Cauchy-Schwarz). In a share
  that says no more. The variance of the answers to a mean is at most what the least noise of the
  mechanism leaves of the variance of a report.

If everybody of the smaller window is in the larger, the means of the samples have that covariance,
divided by the reports of the larger window. If fewer are, it is nearer to 0.

The noise of the mechanism is new in each report, and takes no part. Nor do permanent answers: those
of different answers are independent, and those of equal answers are the same, which makes the error
of a difference smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.metric import Metric
from estimator.analyses.means import Contrast
from estimator.analyses.metric import analysis_of
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.results.estimate import Estimate
from estimator.results.group import Ends
from estimator.results.statistic import Statistic


@dataclass(frozen=True, slots=True)
class SamePeople:
    """Two windows of a question, in which the same people may have answered.

    Attributes:
        metric: the question.
        reports: of the first window and of the last.

    """

    metric: Metric
    reports: tuple[int, int]

    def opposition(self, about: Statistic, first: Estimate, last: Estimate, ends: Ends) -> float:
        """Return by how much the covariance of the errors of two figures may lie below 0.

        Args:
            about: their statistic.
            first: the estimate in the first window.
            last: the estimate in the last one.
            ends: the least and the greatest possible figure.

        """
        places = [_position(figure, *ends) for figure in (first, last)]
        opposition = _opposition(*places)
        if not about.is_share:
            variances = [
                max(0.0, reports * _error(mean, *ends) ** 2 - least_noise(self.metric, self.metric.channel, place))
                for reports, mean, place in zip(self.reports, (first, last), places, strict=True)
            ]
            opposition = min(opposition, math.sqrt(math.prod(variances)))
        return opposition * (ends[1] - ends[0]) ** 2 / max(self.reports)


def least_noise(metric: Metric, channel: Channel, mean: float) -> float:
    """Return the least variance that a channel adds to an answer, if answers have a mean.

    Args:
        metric: the question, for the worth of its answers.
        channel: that of the question, or a step of it.
        mean: on a scale from 0 to 1.

    """
    decoder = decoder_of(channel)
    if decoder is not None:
        return decoder.least_noise(mean)
    return max(0.0, Contrast.of(inverse_of(channel), analysis_of(metric).scale).floor)


def _opposition(first: float, last: float) -> float:
    """Return by how much the covariance of answers with these means may lie below 0."""
    return min(first * last, (1 - first) * (1 - last))


def _position(figure: Estimate, least: float, most: float) -> float:
    assert figure.estimate is not None  # noqa: S101 windows without reports are left out
    return min(1.0, max(0.0, (figure.estimate - least) / (most - least)))


def _error(figure: Estimate, least: float, most: float) -> float:
    return (figure.standard_error or 0.0) / (most - least)
