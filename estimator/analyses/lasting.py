"""Lasting variance: the part of a report's variance that remains when windows are averaged.

If the same people report in several windows, two errors can repeat:

* the error from the random choice of people
* the error from permanent answers: a device randomizes its answer once, and randomizes the result
  again in each window

The rest of a report's variance is fresh noise, which each device draws anew in each window.
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

    Args:
        channel: the channel of the metric.
        shares: the estimated shares.
        of_one_value: whether each share belongs to a single value. If a share combines several
            values and answers are permanent, the result is the largest possible variance.
    """
    gap, lie = _first_step(channel)
    is_known = of_one_value or not channel.permanent_nanos
    permanent = lie + gap * shares if is_known else np.full_like(shares, 0.5)
    return permanent * (1 - permanent) / gap**2


def lasting_of_members(channel: Channel, means: Floats) -> Floats:
    """Return the maximum variance of a group's answers around their mean (Bhatia & Davis 2000).

    Means are on a scale from 0 to 1. With permanent answers, the result is infinite, because no
    part of the noise is known to be fresh.
    """
    return np.full_like(means, np.inf) if channel.permanent_nanos else means * (1 - means)


def least_noise_of_means(metric: Metric, places: Floats) -> Floats:
    """Return the minimum variance of the fresh noise in a report, for each mean in ``places``.

    Means are on a scale from 0 to 1.
    """
    channel = metric.channel
    gap, _ = _first_step(channel)
    return np.array([_least_noise(metric, channel.last_step, place) for place in places.tolist()]) / gap**2


def _least_noise(metric: Metric, channel: Channel, mean: float) -> float:
    """Return the minimum variance of a channel's noise, over populations with the given mean."""
    decoder = decoder_of(channel)
    if decoder is not None:
        return decoder.least_noise(mean)
    return max(0.0, analysis_of(metric).contrast_by(inverse_of(channel)).floor)


def _first_step(channel: Channel) -> tuple[float, float]:
    """Return the slope and the intercept that turn a true share into a permanent answer's share.

    If a share f of people has an answer, slope * f + intercept is the expected share of people with
    this permanent answer. Without permanent answers, both shares are equal.
    """
    if not channel.permanent_nanos:
        return 1.0, 0.0
    first = first_step(channel)
    keep, lie = (float(first.probability(0, given)) for given in (0, 1))
    return keep - lie, lie
