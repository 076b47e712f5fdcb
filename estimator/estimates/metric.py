"""From a metric and its tallies to estimates with their uncertainty.

Standard errors and intervals describe a population of which the devices are a random sample. They
cover both the choice of people and the noise of the mechanism, so for the devices at hand alone
they are slightly too wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.kinds.cross import Cross, MeanByGroup
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.number import Activity, Count, Number
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.model import CrossedModel, Model
from client_sdk.protocol.texts.text import Text
from estimator.decoders.inversions import decoder_of, inverse_of
from estimator.errors import UnfitTallyError
from estimator.estimates.clustering.clusters import clusters_of_histogram, clusters_of_values
from estimator.estimates.covariance import MOST_VALUES, Sample
from estimator.estimates.days_of_use import at_least, thresholds
from estimator.estimates.distribution import distribution_of, family_of, mean_of
from estimator.estimates.group_means import group_means
from estimator.estimates.group_means import intervals_of as intervals_of_means
from estimator.estimates.joint import intervals_of, joint_of
from estimator.estimates.learned.models import model_estimates
from estimator.estimates.mean_scale import positions_of
from estimator.estimates.poisoning import fakes_of
from estimator.estimates.question_fields import question_fields
from estimator.estimates.ratios import Ratios
from estimator.estimates.shares_and_means import has_shares, shares_and_means
from estimator.estimates.texts import text_estimates
from estimator.estimates.vectors import vector_estimates
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit, fits_of
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import SHARES, FigureGroup, in_order
from estimator.results.metric import MetricEstimate
from estimator.results.request import PLAIN, Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.tallies.tally import Tally
from estimator.words import mean_word

AT_ONCE: Final = 2**14
"""Symbols of all tallies that are estimated side by side. More would be no faster, and BLAS would
use threads for the larger matrices, which wait for each other on busy processors.
"""

FLOATS_APART: Final = 2**40
"""A range that is narrower than such a part of its ends has too few floats for a histogram."""


def estimate(metric: Metric, tally: Tally, request: Request = PLAIN) -> MetricEstimate:
    """Return the estimates of a tally of the metric's own edition.

    Raises:
        UnfitTallyError: as `check_fit` does.

    """
    check_fit(metric, tally)
    (estimated,) = estimates(metric, [tally], request)
    return estimated


def check_fit(metric: Metric, tally: Tally) -> None:
    """Refuse a tally that cannot be estimated.

    Raises:
        UnfitTallyError: if it does not have the channel's alphabet, or if floats cannot tell the
            numbers apart.

    """
    tally.check(metric.channel.symbols)
    domain = metric.kind.second if isinstance(metric.kind, MeanByGroup) else metric.kind
    if isinstance(domain, Grid) and (domain.high - domain.low) * FLOATS_APART < max(abs(domain.low), abs(domain.high)):
        raise UnfitTallyError(
            f"its range from {float(domain.low):.17g} to {float(domain.high):.17g} is too narrow for floats; "
            "ask how far a number is above the least one"
        )


def estimates(metric: Metric, tallies: Sequence[Tally], request: Request = PLAIN) -> Iterator[MetricEstimate]:
    """Yield the estimates of each tally of the metric's own edition, in order.

    Many tallies are estimated side by side.

    Raises:
        UnfitTallyError: if a tally does not have the channel's alphabet.

    """
    if isinstance(metric.kind, Model | CrossedModel):
        yield from model_estimates(metric, tallies, request)
        return
    if metric.channel.turns:
        yield from vector_estimates(metric, tallies, request)
        return
    if isinstance(metric.kind, Text):
        yield from text_estimates(metric, tallies, request)
        return
    without_histograms, histogram = _without_histograms(metric, tallies, request), _histogram_of(metric)
    if histogram is None:
        yield from without_histograms
        return
    counts = [tally.dense(metric.channel.symbols) for tally in tallies]
    for estimated, of_tally, fit in zip(without_histograms, counts, fits_of(histogram, counts), strict=True):
        yield _with_histogram(estimated, histogram, of_tally, fit, request)


def _without_histograms(metric: Metric, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
    family = _family(metric, request) if request.simultaneous else 1
    at_once = max(1, AT_ONCE // metric.channel.symbols)
    for first in range(0, len(tallies), at_once):
        batch = tallies[first : first + at_once]
        counts = np.array([tally.dense(metric.channel.symbols) for tally in batch])
        figures = shares_and_means(metric, counts, np.array([[tally.reports] for tally in batch]), family)
        for tally, of_tally, (shares, mean) in zip(batch, counts, figures, strict=True):
            plain = MetricEstimate(
                **question_fields(metric),
                window=tally.window.text,
                closed=tally.closed,
                reports=tally.reports,
                groups=tuple(_shares_and_mean(metric, tally, shares, mean)),
            )
            yield _with_more(metric, plain, of_tally, request)


def _shares_and_mean(
    metric: Metric, tally: Tally, shares: Figures | None, mean: Estimate | None
) -> Iterator[FigureGroup]:
    if shares is not None:
        yield FigureGroup("share", shares, "", SHARES)
    if mean is not None:
        ends = mean_range_of(metric)
        yield FigureGroup(mean_statistic(metric), Figures.from_rows([mean.labelled()]), metric.unit, ends)
        if _adds_up(metric) and tally.reports:
            yield FigureGroup("sum", Figures.from_rows([mean.times(tally.reports).labelled()]), metric.unit)


def mean_statistic(metric: Metric) -> str:
    """Return the statistic that the mean of a metric is."""
    return mean_word(metric.kind.name).replace(" ", "_")


def _histogram_of(metric: Metric) -> Histogram | None:
    """Return the histogram of a number on a grid. None for other answers, and for a mean alone."""
    domain = metric.kind
    if not isinstance(domain, Grid) or domain.statistic == "mean" or decoder_of(metric.channel) is None:
        return None
    return Histogram.of(metric.channel, domain)


def _with_histogram(
    estimated: MetricEstimate, histogram: Histogram, counts: Counts, fit: Fit | None, request: Request
) -> MetricEstimate:
    ranges, likeliest = _ranges_of(estimated.metric, request), mean_of(histogram, fit)
    groups = [_with_likeliest(group, likeliest) if group.about.is_mean else group for group in estimated.groups]
    distribution = distribution_of(histogram, counts, fit, ranges, estimated.unit, simultaneous=request.simultaneous)
    clusters = clusters_of_histogram(histogram, counts, fit) if request.clusters and fit else None
    return replace(estimated, groups=in_order([*groups, *distribution]), clusters=clusters)


def _with_likeliest(group: FigureGroup, likeliest: float | None) -> FigureGroup:
    (mean,) = group.figures
    return replace(group, figures=Figures.from_rows([replace(mean, maximum_likelihood=likeliest)]))


def _ranges_of(name: str, request: Request) -> list[tuple[float, float]]:
    return [(start, end) for metric, start, end in request.ranges if metric == name]


def mean_range_of(metric: Metric) -> tuple[float, float]:
    """Return the least and the greatest possible mean of a metric.

    Raises:
        TypeError: if the metric has no mean.

    """
    domain = metric.kind
    match domain:
        case Grid():
            return float(domain.low), float(domain.high)
        case MeanByGroup(second=number):
            return float(number.low), float(number.high)
        case Subset():
            return 0.0, float(domain.max_items)
        case Ordinal():
            return 1.0, float(domain.size)
    raise TypeError(f"a {domain.name} has no mean")


def _adds_up(metric: Metric) -> bool:
    """Whether answers can be added: numbers and counts can, steps of a scale cannot."""
    return isinstance(metric.kind, Number | Count | Activity)


def _family(metric: Metric, request: Request) -> int:
    """Return the number of intervals of one tally."""
    if (histogram := _histogram_of(metric)) is not None:
        return family_of(histogram, len(_ranges_of(metric.name, request)))
    domain, size = metric.kind, metric.channel.inputs
    if not has_shares(metric):
        return 1
    if isinstance(domain, MeanByGroup):
        return (1 if domain.first.size == 2 else domain.first.size) + intervals_of_means(domain)  # noqa: PLR2004 as below
    shares = 1 if size == 2 else size  # noqa: PLR2004 of two shares one is the rest
    ratios = size - 1 if metric.has_no_answer else intervals_of(domain) if isinstance(domain, Cross) else 0
    days = len(thresholds(domain)) if isinstance(domain, Activity) else 0
    return shares + (positions_of(metric) is not None) + ratios + days


def _with_more(metric: Metric, estimated: MetricEstimate, counts: Counts, request: Request) -> MetricEstimate:
    """Return the estimates with the requested figures of the tally as a whole."""
    domain, shares = metric.kind, estimated.estimates
    more: list[FigureGroup] = []
    if isinstance(domain, Activity) and shares is not None:
        family = _family(metric, request) if request.simultaneous else 1
        more.append(at_least(domain, inverse_of(metric.channel), counts, shares.maximum_likelihood, family))
    if estimated.reports and request.fakes is not None:
        estimated = replace(estimated, fakes=fakes_of(metric, counts, estimated.compared, request.fakes))
    if estimated.reports and shares is not None:
        estimated = _with_more_of_shares(metric, estimated, shares, counts, request)
    return replace(estimated, groups=in_order([*estimated.groups, *more]))


def _with_more_of_shares(
    metric: Metric, estimated: MetricEstimate, shares: Figures, counts: Counts, request: Request
) -> MetricEstimate:
    domain, inverse = metric.kind, inverse_of(metric.channel)
    more: list[FigureGroup] = []
    if request.clusters:
        estimated = replace(estimated, clusters=clusters_of_values(metric, inverse, counts, shares.maximum_likelihood))
    is_filled = metric.has_no_answer
    is_joint = isinstance(domain, Cross) and request.joint and not is_filled
    family = _family(metric, request) if request.simultaneous else 1
    if isinstance(domain, MeanByGroup) and request.joint:
        more += group_means(domain, inverse, counts, metric.unit, family)
        estimated = replace(estimated, names=domain.names)
    if metric.channel.inputs <= MOST_VALUES and (request.covariance or is_joint or is_filled):
        sample = Sample.of(inverse, counts)
        covariance = sample.covariance(inverse)
        if isinstance(domain, Cross) and is_joint:
            joint = joint_of(domain, shares.unbiased, covariance, sample, family)
            more += joint.groups
            estimated = replace(estimated, names=domain.names, independence=joint.independence)
        if is_filled:
            answered = zip(domain.labels, _answered(shares, covariance, sample, family), strict=True)
            figures = Figures.from_rows(share.labelled(value) for value, share in answered)
            more.append(FigureGroup("share_of_answered", figures, "", SHARES))
        if request.covariance:
            estimated = replace(estimated, covariance=tuple(map(tuple, covariance.tolist())))
    return replace(estimated, groups=(*estimated.groups, *more))


def _answered(shares: Figures, covariance: Floats, sample: Sample, family: int) -> list[Estimate]:
    """Return the shares among those who answered: within the group of all inputs but the last."""
    answers = len(shares) - 1
    ratios = Ratios.of(shares.unbiased[:answers], covariance[:answers, :answers], 1, answers)
    is_enough = sample.reports >= EXACT_BELOW
    ratios, z = (ratios.widened(sample), z_of(family)) if is_enough else (ratios, math.inf)
    return [ratios.estimate(0, answer, z) for answer in range(answers)]
