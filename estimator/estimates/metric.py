"""From a metric and its tally to estimates with their uncertainty.

Standard errors and intervals speak of a population from which the devices are a random sample: they hold the chance of
who reported as well as the noise of the mechanism. For the devices at hand alone they are a little too wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from client_sdk.protocol import Cross, Filled, Metric, Number
from estimator.estimates.clusters import clusters_of_histogram, clusters_of_values
from estimator.estimates.covariance import MOST_VALUES, covariance_of
from estimator.estimates.distribution import distribution_of
from estimator.estimates.joint import intervals_of, joint_of
from estimator.estimates.mean_scale import positions_of
from estimator.estimates.poisoning import fakes_of
from estimator.estimates.ratios import Ratios
from estimator.estimates.shares_and_means import has_shares, shares_and_means
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.inverse.protocol import Inverse
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit, fits_of
from estimator.privacy.central import central_of
from estimator.results.estimate import Estimate, Shares
from estimator.results.metric import MetricEstimate
from estimator.results.request import PLAIN, Wanted
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.tallies.tally import Tally

AT_ONCE: Final = 2**14
"""Symbols of all tallies that are estimated side by side. More would be no quicker, but bring matrices so large that
BLAS has threads for them, which wait for each other where processors are busy."""


def estimate(metric: Metric, tally: Tally, wanted: Wanted = PLAIN) -> MetricEstimate:
    """Return what a tally of the metric's own edition tells.

    Raises:
        UnfitTallyError: if the tally is not of the channel's alphabet.

    """
    (found,) = estimates(metric, [tally], wanted)
    return found


def estimates(metric: Metric, tallies: Sequence[Tally], wanted: Wanted = PLAIN) -> Iterator[MetricEstimate]:
    """Yield what each tally of the metric's own edition tells, in their order; many are estimated side by side.

    Raises:
        UnfitTallyError: if a tally is not of the channel's alphabet.

    """
    found, histogram = _but_for_histograms(metric, tallies, wanted), _histogram_of(metric)
    if histogram is None:
        yield from found
        return
    fits = fits_of(histogram, (tally.dense(metric.channel.symbols) for tally in tallies))
    for one, fit in zip(found, fits, strict=True):
        yield _with_histogram(one, histogram, fit, wanted)


def _but_for_histograms(metric: Metric, tallies: Sequence[Tally], wanted: Wanted) -> Iterator[MetricEstimate]:
    family = _family(metric) if wanted.simultaneous else 1
    at_once = max(1, AT_ONCE // metric.channel.symbols)
    for first in range(0, len(tallies), at_once):
        some = tallies[first : first + at_once]
        counts = np.array([tally.dense(metric.channel.symbols) for tally in some])
        figures = shares_and_means(metric, counts, np.array([[tally.reports] for tally in some]), family)
        for tally, of_tally, (shares, mean) in zip(some, counts, figures, strict=True):
            found = MetricEstimate(metric, tally.window, tally.closed, tally.reports, shares, mean)
            yield _with_more(found, of_tally, wanted)


def _histogram_of(metric: Metric) -> Histogram | None:
    """Return the histogram that is wanted of a number on a grid; of other answers, and for a mean alone, none."""
    domain = metric.domain
    if not isinstance(domain, Number) or domain.statistic == "mean" or decoder_of(metric.channel) is None:
        return None
    return Histogram.of(metric.channel, domain)


def _with_histogram(found: MetricEstimate, histogram: Histogram, fit: Fit | None, wanted: Wanted) -> MetricEstimate:
    distribution = distribution_of(histogram, fit, simultaneous=wanted.simultaneous)
    assert found.mean is not None  # noqa: S101 numbers on a grid have one
    found = replace(found, mean=replace(found.mean, likeliest=distribution.mean_ml), distribution=distribution)
    return replace(found, clusters=clusters_of_histogram(histogram, fit)) if wanted.clusters and fit else found


def _family(metric: Metric) -> int:
    """Return how many intervals there are of what one tally tells; those of a histogram are held together elsewhere."""
    domain, size = metric.domain, metric.channel.inputs
    if not has_shares(metric):
        return 1
    shares = 1 if size == 2 else size  # noqa: PLR2004 of two shares one is the rest
    ratios = intervals_of(domain) if isinstance(domain, Cross) else size - 1 if isinstance(domain, Filled) else 0
    return shares + (positions_of(metric) is not None) + ratios


def _with_more(found: MetricEstimate, counts: Counts, wanted: Wanted) -> MetricEstimate:
    """Return what a tally tells with what is wanted of it as a whole."""
    metric, shares = found.metric, found.shares
    if wanted.central_delta is not None:
        found = replace(found, central=central_of(metric, found.reports, wanted.central_delta, closed=found.closed))
    if found.reports == 0:
        return found
    if shares is not None:
        found = _with_more_of_shares(found, shares, inverse_of(metric.channel), counts, wanted)
    if wanted.fakes is not None:
        labels = None if shares is None else shares.labels
        found = replace(found, fakes=fakes_of(metric, counts, labels, found.unbiased, wanted.fakes))
    return found


def _with_more_of_shares(
    found: MetricEstimate, shares: Shares, inverse: Inverse, counts: Counts, wanted: Wanted
) -> MetricEstimate:
    metric, domain, reports = found.metric, found.metric.domain, found.reports
    if wanted.clusters:
        found = replace(found, clusters=clusters_of_values(metric, inverse, counts, shares.likeliest))
    is_joint, is_filled = isinstance(domain, Cross) and wanted.joint, isinstance(domain, Filled)
    if metric.channel.inputs > MOST_VALUES or not (wanted.covariance or is_joint or is_filled):
        return found
    family = _family(metric) if wanted.simultaneous else 1
    covariance = covariance_of(inverse, counts, reports)
    if isinstance(domain, Cross) and wanted.joint:
        found = replace(found, joint=joint_of(domain, shares.unbiased, covariance, reports, family))
    if isinstance(domain, Filled):
        answered = _answered(shares, covariance, reports, family)
        found = replace(found, answered=tuple(zip(domain.answered.labels, answered, strict=True)))
    return replace(found, covariance=covariance) if wanted.covariance else found


def _answered(shares: Shares, covariance: Floats, reports: int, family: int) -> list[Estimate]:
    """Return the shares among those who answered: of a group that is all but the last input."""
    answers = len(shares) - 1
    ratios = Ratios.of(shares.unbiased[:answers], covariance[:answers, :answers], 1, answers)
    z = z_of(family) if reports >= EXACT_BELOW else math.inf
    return [ratios.estimate(0, answer, z) for answer in range(answers)]
