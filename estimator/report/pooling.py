"""Several windows of one question taken together, and how they differ.

The same people may have answered in every window, and nobody knows who did. What is new in each report, the noise of
its mechanism, averages out over all reports. What may be the same every time, who the people are and the noise of
permanent answers, is taken to be exactly the same: standard errors then add up, weighted with the reports, and do not
shrink with the number of windows. Both parts together are never less than the truth (Minkowski's inequality), but for
what has to be estimated of them.

A difference between two windows takes them for independent; where the same people answered it is too careful.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from client_sdk.protocol import Channel, Label
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.estimates.mean_scale import scale_of
from estimator.estimates.means import Contrast
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.report.changes import difference
from estimator.results.changes import Pooled
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.statistics.confidence import EXACT_BELOW, z_of

MEAN = "mean"


@dataclass(frozen=True, slots=True)
class _Part:
    """One figure of one window: its estimate, and the two parts of its standard error.

    Attributes:
        reports: of the window.
        estimate: unbiased.
        fresh: what of the error is new in each report.
        lasting: what may be the same in every window.

    """

    reports: int
    estimate: float
    fresh: float
    lasting: float


def pooled(estimates: Sequence[MetricEstimate]) -> tuple[Pooled, ...]:
    """Pool the windows of every metric that has reports in more than one, in the order of the metrics."""
    with_reports = [one for one in estimates if one.reports]
    groups = (list(windows) for _, windows in groupby(with_reports, key=lambda one: one.metric))
    return tuple(_pool(windows) for windows in groups if len(windows) > 1)


def _pool(windows: list[MetricEstimate]) -> Pooled:
    metric, reports = windows[0].metric, sum(one.reports for one in windows)
    shares: list[tuple[Label, Estimate]] = []
    changes: list[tuple[Label, Estimate]] = []
    fewest = min(windows[0].reports, windows[-1].reports)
    if windows[0].shares is not None:
        for same in zip(*(one.shares for one in windows if one.shares is not None), strict=True):
            at = _middle(windows, [share for _, share in same])
            parts = [_of_share(one, share, at) for one, (_, share) in zip(windows, same, strict=True)]
            shares.append((same[0][0], _together(parts, 0.0, 1.0)))
            changes.append((same[0][0], difference(same[0][1], same[-1][1], fewest, 1.0)))
    mean = None
    if windows[0].mean is not None:
        means = [one.mean for one in windows if one.mean is not None]
        at = _middle(windows, means)
        parts = [_of_mean(one, mean, at) for one, mean in zip(windows, means, strict=True)]
        least, most = windows[0].mean_range
        mean = _together(parts, least, most)
        changes.append((MEAN, difference(means[0], means[-1], fewest, most - least)))
    return Pooled(metric, tuple(one.window.text for one in windows), reports, tuple(shares), mean, tuple(changes))


def _middle(windows: Sequence[MetricEstimate], same: Sequence[Estimate]) -> float:
    """Return the estimate of all windows: at that of each alone the part that lasts would come out too small."""
    reports = [one.reports for one in windows]
    return math.fsum(weight * _known(one)[0] for weight, one in zip(reports, same, strict=True)) / sum(reports)


def _of_share(one: MetricEstimate, share: Estimate, at: float) -> _Part:
    """Divide the error of a share: people, and permanent answers, are a sample of the shares that they would have."""
    estimate, error = _known(share)
    gap, lie = _first_step(one.metric.channel)
    permanent = lie + gap * min(1.0, max(0.0, at))
    lasting = min(error, math.sqrt(permanent * (1 - permanent) / one.reports) / gap)
    return _Part(one.reports, estimate, math.sqrt(error**2 - lasting**2), lasting)


def _of_mean(one: MetricEstimate, mean: Estimate, at: float) -> _Part:
    """Divide the error of a mean: the least noise that the mechanism has there is fresh, all else may last."""
    estimate, error = _known(mean)
    least, most = one.mean_range
    position = min(1.0, max(0.0, (at - least) / (most - least)))
    fresh = min(error, math.sqrt(_least_noise(one, position) / one.reports) * (most - least))
    return _Part(one.reports, estimate, fresh, math.sqrt(error**2 - fresh**2))


def _least_noise(one: MetricEstimate, position: float) -> float:
    """Return the least variance of fresh noise in a report, where the mean is at a position from 0 to 1."""
    channel = one.metric.channel
    decoder = decoder_of(channel)
    if decoder is not None:
        return float(decoder.least_variance(np.array(position)))
    gap, _ = _first_step(channel)
    inverse = inverse_of(channel.instantaneous if isinstance(channel, Permanent) else channel)
    return max(0.0, Contrast.of(inverse, scale_of(one.metric)).floor) / gap**2


def _first_step(channel: Channel) -> tuple[float, float]:
    """Return how much of a share arrives in that of permanent answers, and of how many lies it begins with."""
    if not isinstance(channel, Permanent):
        return 1.0, 0.0
    keep, lie = (float(channel.permanent.probability(0, given)) for given in (0, 1))
    return keep - lie, lie


def _known(one: Estimate) -> tuple[float, float]:
    assert one.unbiased is not None  # noqa: S101 windows without reports are left out
    assert one.standard_error is not None  # noqa: S101 likewise
    return one.unbiased, one.standard_error


def _together(parts: Sequence[_Part], least: float, most: float) -> Estimate:
    reports = sum(part.reports for part in parts)
    estimate = math.fsum(part.reports * part.estimate for part in parts) / reports
    fresh = math.sqrt(math.fsum((part.reports * part.fresh) ** 2 for part in parts)) / reports
    lasting = math.fsum(part.reports * part.lasting for part in parts) / reports
    error = math.hypot(fresh, lasting)
    if reports < EXACT_BELOW:
        return Estimate(estimate, error, least, most, None)
    reach = z_of(1) * error
    low, high = (min(most, max(least, end)) for end in (estimate - reach, estimate + reach))
    return Estimate(estimate, error, low, high, None)
