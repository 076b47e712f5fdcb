"""From a metric and its tally to estimates with their uncertainty.

Standard errors and intervals speak of a population from which the devices are a random sample: they hold the chance of
who reported as well as the noise of the mechanism. For the devices at hand alone they are a little too wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
from estimator.likelihood import maximum_likelihood
from estimator.means import Contrast, mean_of
from estimator.poisoning import Fakes, fakes_of
from estimator.positions import positions_of
from estimator.ratios import Ratios
from estimator.shrinkage import FEWEST, shrunken_shares
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
    """Yield what each tally of the metric's own edition tells; histograms are fitted many at once.

    Raises:
        UnfitTallyError: if a tally is not of the channel's alphabet.

    """
    symbols = metric.channel.symbols
    histogram = _histogram_of(metric)
    if histogram is None:
        yield from (_alone(metric, tally, tally.dense(symbols), wanted) for tally in tallies)
        return
    for tally, fit in zip(tallies, fits_of(histogram, (tally.dense(symbols) for tally in tallies)), strict=True):
        found = _alone(metric, tally, tally.dense(symbols), wanted)
        yield _with_histogram(found, histogram, fit, wanted)


def _histogram_of(metric: Metric) -> Histogram | None:
    """Return the histogram that is wanted of a number on a grid; of other answers, and for a mean alone, none."""
    domain = metric.domain
    if not isinstance(domain, Number) or domain.statistic == "mean" or decoder_of(metric.channel) is None:
        return None
    return Histogram.of(metric.channel, domain)


def _alone(metric: Metric, tally: Tally, counts: Counts, wanted: Wanted) -> MetricEstimate:
    """Return all that a tally tells, but for a histogram."""
    found = MetricEstimate(metric, tally.window, tally.closed, tally.reports)
    if wanted.central_delta is not None:
        found = replace(found, central=central_of(metric, tally.reports, wanted.central_delta, closed=tally.closed))
    found = _estimated(found, counts, wanted)
    if wanted.fakes is not None and tally.reports > 0:
        labels = None if found.shares is None else found.shares.labels
        found = replace(found, fakes=fakes_of(metric, counts, labels, found.unbiased, wanted.fakes))
    return found


def _with_histogram(found: MetricEstimate, histogram: Histogram, fit: Fit | None, wanted: Wanted) -> MetricEstimate:
    distribution = distribution_of(histogram, fit, simultaneous=wanted.simultaneous)
    assert found.mean is not None  # noqa: S101 numbers on a grid have one
    found = replace(found, mean=replace(found.mean, likeliest=distribution.mean_ml), distribution=distribution)
    return replace(found, clusters=clusters_of_histogram(histogram, fit)) if wanted.clusters and fit else found


def _estimated(found: MetricEstimate, counts: Counts, wanted: Wanted) -> MetricEstimate:
    metric, domain = found.metric, found.metric.domain
    decoder = decoder_of(metric.channel)
    if decoder is not None:
        assert isinstance(domain, Number)  # noqa: S101 such channels are for numbers only
        mean = Estimate(*mean_of(decoder, counts, found.reports), likeliest=None)
        return replace(found, mean=mean.between(float(domain.low), float(domain.high)))
    inverse = inverse_of(metric.channel)
    if isinstance(domain, Number) and domain.size is None:
        ends = _shares((0, 1), inverse, counts, found.reports)
        (_, (_, high)) = ends
        return replace(found, mean=high.between(float(domain.low), float(domain.high)))
    return _of_values(found, inverse, counts, wanted)


def _of_values(found: MetricEstimate, inverse: Inverse, counts: Counts, wanted: Wanted) -> MetricEstimate:
    """Return what a channel tells each input of which stands for an answer."""
    domain, reports = found.metric.domain, found.reports
    size = found.metric.channel.inputs
    positions = positions_of(found.metric)
    family = 1
    if wanted.simultaneous:
        family = (1 if size == 2 else size) + (positions is not None)  # noqa: PLR2004 of two shares one is the rest
        family += intervals_of(domain) if isinstance(domain, Cross) else 0
        family += size - 1 if isinstance(domain, Filled) else 0
    shares = _shares(domain.labels, inverse, counts, reports, family)
    mean = None if positions is None else _mean(positions, inverse, shares.likeliest, counts, reports, family)
    if wanted.clusters and reports:
        found = replace(found, clusters=clusters_of_values(found.metric, inverse, counts, shares.likeliest))
    if isinstance(domain, Subset):
        shares = shares.of_members(domain.labels, domain.max_items)
    found = replace(found, shares=shares, mean=mean)
    is_filled = isinstance(domain, Filled) and size <= MOST_VALUES
    is_joint = isinstance(domain, Cross) and wanted.joint
    if reports == 0 or size > MOST_VALUES or not (wanted.covariance or is_filled or is_joint):
        return found
    covariance = covariance_of(inverse, counts, reports)
    if isinstance(domain, Cross) and wanted.joint:
        found = replace(found, joint=joint_of(domain, shares.unbiased, covariance, reports, family))
    if isinstance(domain, Filled) and is_filled:
        answered = _answered(shares, covariance, reports, family)
        found = replace(found, answered=tuple(zip(domain.answered.labels, answered, strict=True)))
    return replace(found, covariance=covariance) if wanted.covariance else found


def _answered(shares: Shares, covariance: Floats, reports: int, family: int) -> list[Estimate]:
    """Return the shares among those who answered: of a group that is all but the last input."""
    answers = len(shares) - 1
    ratios = Ratios.of(shares.unbiased[:answers], covariance[:answers, :answers], 1, answers)
    z = z_of(family) if reports >= EXACT_BELOW else math.inf
    return [ratios.estimate(0, answer, z) for answer in range(answers)]


def _shares(labels: Sequence[Label], inverse: Inverse, counts: Counts, reports: int, family: int = 1) -> Shares:
    lows, highs = inverse.intervals(counts, reports, family)
    if reports == 0:
        return Shares(labels, lows, highs, NOTHING, NOTHING, NOTHING, NOTHING)
    unbiased, errors = inverse.shares(counts, reports), inverse.standard_errors(counts, reports)
    shrunken = shrunken_shares(unbiased, errors) if unbiased.size >= FEWEST else NOTHING
    return Shares(labels, lows, highs, unbiased, errors, maximum_likelihood(inverse, counts), shrunken)


def _mean(  # noqa: PLR0913, PLR0917 what shares were estimated from
    positions: Floats, inverse: Inverse, likeliest: Floats, counts: Counts, reports: int, family: int
) -> Estimate:
    least, greatest = float(positions.min()), float(positions.max())
    weights = (positions - least) / (greatest - least)
    mean = mean_of(Contrast.remembered(inverse, tuple(weights.tolist())), counts, reports, family)
    at_most = float(weights @ likeliest) if likeliest.size else None
    return Estimate(*mean, likeliest=at_most).between(least, greatest)
