"""From a metric and its tally to estimates with their uncertainty.

Standard errors and intervals speak of a population from which the devices are a random sample: they hold the chance of
who reported as well as the noise of the mechanism. For the devices at hand alone they are a little too wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from client_sdk.spec import Cross, Filled, Label, Metric, Number, Ordinal, Subset, Window
from estimator.central import Central, central_of
from estimator.clustered import clusters_of_histogram, clusters_of_values
from estimator.clustering import Clusters
from estimator.covariance import MOST_VALUES, covariance_of
from estimator.distribution import Distribution, distribution_of
from estimator.figure import Estimate, Shares
from estimator.fitting import Fit, fits_of
from estimator.histogram import Histogram
from estimator.intervals import EXACT_BELOW, Floats, z_of
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.inverse.protocol import Inverse
from estimator.joint import Joint, intervals_of, joint_of
from estimator.poisoning import Fakes, fakes_of
from estimator.positions import positions_of
from estimator.ratios import Ratios
from estimator.shares_and_means import has_shares, shares_and_means
from estimator.tallies import Counts, Tally

NOTHING = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a tally beside the estimates.

    Attributes:
        simultaneous: intervals that hold together, for all that one tally tells, instead of each by itself.
        covariance: of the shares.
        central_delta: the delta of the central epsilon of each closed tally; or none, where none is wanted.
        pool: all windows of a metric together, too.
        joint: what follows from the shares of two questions asked together.
        fakes: the fraction of the reports that is taken for made up; or none, where that is not asked.
        clusters: of answers that lie on a scale, are counts or numbers, or pairs.

    """

    simultaneous: bool = False
    covariance: bool = False
    central_delta: float | None = None
    pool: bool = False
    joint: bool = True
    fakes: float | None = None
    clusters: bool = False


PLAIN = Wanted()

AT_ONCE: Final = 2**14
"""Symbols of all tallies that are estimated side by side. More would be no quicker, but bring matrices so large that
BLAS has threads for them, which wait for each other where processors are busy."""


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """What one tally tells.

    Attributes:
        metric: the question.
        window: when it was asked.
        closed: whether the tally can no longer change; if not, everything here is preliminary.
        reports: n.
        shares: where answers have shares each of them, in the domain's order; else none.
        mean: of a number in the metric's units, of a scale's positions from 1, or of a set's size; else none.
        distribution: for a number of which it is asked, in the metric's units; else none.
        answered: where windows without an answer are reported, too, for each answer its share among those who gave
            one; else empty.
        joint: for two questions asked together; else none.
        covariance: where it is wanted, of up to `MOST_VALUES` shares as the channel has them (of a set: of what was
            drawn, the dummy last); else none.
        central: what the tally reveals, if nothing else is published, where that is wanted; else none.
        fakes: what made-up reports could have done, where that is wanted; else none.
        clusters: of the answers, where they are wanted and there is a histogram of answers that are near or far; else
            none.

    """

    metric: Metric
    window: Window
    closed: bool
    reports: int
    shares: Shares | None = None
    mean: Estimate | None = None
    distribution: Distribution | None = None
    answered: tuple[tuple[Label, Estimate], ...] = ()
    joint: Joint | None = None
    covariance: Floats | None = None
    central: Central | None = None
    fakes: Fakes | None = None
    clusters: Clusters | None = None

    @property
    def total(self) -> Estimate | None:
        """The sum of the answers of so many people as reported, where answers can be added; else none."""
        adds_up = isinstance(self.metric.domain, Number) and self.reports > 0
        return self.mean.times(self.reports) if self.mean is not None and adds_up else None

    @property
    def mean_range(self) -> tuple[float, float]:
        """Between which ends the mean lies."""
        domain = self.metric.domain
        match domain:
            case Number():
                return float(domain.low), float(domain.high)
            case Subset():
                return 0.0, float(domain.max_items)
            case Ordinal():
                return 1.0, float(domain.size)
        raise TypeError(f"a {domain.kind} has no mean")

    @property
    def unbiased(self) -> Floats:
        """The unbiased shares, then the mean; without any report nothing."""
        shares = NOTHING if self.shares is None else self.shares.unbiased
        mean = None if self.mean is None else self.mean.unbiased
        return shares if mean is None else np.append(shares, mean)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The shares and the mean."""
        shares = () if self.shares is None else tuple(share for _, share in self.shares)
        return (*shares, *(() if self.mean is None else (self.mean,)))


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
