"""Lasting variance: the part of a report's variance that may be the same in all windows.

It has two causes: the choice of people, and permanent answers. The same people can report the same
permanent answers in several windows. The rest of a report's variance is fresh noise, which is drawn
anew in each window.
"""

from __future__ import annotations

import numpy as np

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.decoders.permanent import first_step
from estimator.statistics.arrays import Floats


def lasting_of_shares(channel: Channel, shares: Floats, *, of_one_value: bool) -> Floats:
    """Return the lasting variance of one report, for each share.

    People, with their permanent answers, are a sample of a population. If a share combines several
    values, the errors of the permanent answers add up in an unknown way. The function then returns
    the largest possible variance.
    """
    gap, lie = _first_step(channel)
    is_known = of_one_value or not channel.permanent_nanos
    permanent = lie + gap * shares if is_known else np.full_like(shares, 0.5)
    return permanent * (1 - permanent) / gap**2


def lasting_of_members(channel: Channel, means: Floats) -> Floats:
    """Return the maximum variance of a group's answers around their mean (Bhatia & Davis 2000).

    The result is infinite if answers are permanent. Their noise is lasting, so no part of the noise
    is known to be fresh.
    """
    return np.full_like(means, np.inf) if channel.permanent_nanos else means * (1 - means)


def least_noise_of_means(metric: Metric, places: Floats) -> Floats:
    """Return the minimum variance of the fresh noise in a report, for each mean from 0 to 1."""
    channel = metric.channel
    gap, _ = _first_step(channel)
    return np.array([_least_noise(metric, channel.last_step, place) for place in places.tolist()]) / gap**2


def _least_noise(metric: Metric, channel: Channel, mean: float) -> float:
    """Return the minimum variance that a channel adds to an answer, given the mean of all answers.

    Args:
        metric: the question, which defines the numeric value of each answer.
        channel: the channel of the question, or one step of this channel.
        mean: the mean, on a scale from 0 to 1.

    """
    decoder = decoder_of(channel)
    if decoder is not None:
        return decoder.least_noise(mean)
    return max(0.0, analysis_of(metric).contrast_by(inverse_of(channel)).floor)


def _first_step(channel: Channel) -> tuple[float, float]:
    """Return the line that maps the share of a true answer to the share of a permanent answer.

    The line is given as slope and intercept.

    """
    if not channel.permanent_nanos:
        return 1.0, 0.0
    first = first_step(channel)
    keep, lie = (float(first.probability(0, given)) for given in (0, 1))
    return keep - lie, lie
