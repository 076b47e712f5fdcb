"""From a metric and its tally to estimates with their uncertainty.

Standard errors and intervals speak of a population from which the devices are a random sample: they hold the chance of
who reported as well as the noise of the mechanism. For the devices at hand alone they are a little too wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from client_sdk.spec import Channel, Metric, Number, Window
from client_sdk.spec.mechanisms.square_wave import SquareWave
from estimator.distribution import Distribution, distribution_of
from estimator.inverse import inverse_of
from estimator.inverse.decoders import decoder_of
from estimator.inverse.protocol import Inverse
from estimator.likelihood import maximum_likelihood
from estimator.means import mean_of
from estimator.tallies import Counts, Tally


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number that was estimated; without any report only the interval is known, and it is everything.

    Attributes:
        unbiased: right on average over the chance; may lie outside what is possible, because clipping would bias it.
        standard_error: of the unbiased estimate; above 0.
        low: the lower end of the confidence interval, within what is possible.
        high: its upper end, not below ``low``.
        likeliest: the maximum-likelihood estimate, always possible, biased near the ends.

    """

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float
    likeliest: float | None

    def between(self, least: float, greatest: float) -> Estimate:
        """Return the same estimate on a scale where share 0 is ``least`` and share 1 is ``greatest``."""
        width = greatest - least

        def possible(share: float) -> float:
            return min(greatest, max(least, least + width * share))  # rounding could leave the scale by a bit

        return Estimate(
            unbiased=None if self.unbiased is None else least + width * self.unbiased,
            standard_error=None if self.standard_error is None else width * self.standard_error,
            low=possible(self.low),
            high=possible(self.high),
            likeliest=None if self.likeliest is None else possible(self.likeliest),
        )


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """What one tally tells.

    Attributes:
        metric: the question.
        window: when it was asked.
        closed: whether the tally can no longer change; if not, everything here is preliminary.
        reports: n.
        shares: for a boolean or a category each value with its share, in the domain's order; else empty.
        mean: for a number its mean in the metric's units; else none.
        distribution: for a number of which it is asked, in the metric's units; else none.

    """

    metric: Metric
    window: Window
    closed: bool
    reports: int
    shares: tuple[tuple[bool | str, Estimate], ...]
    mean: Estimate | None
    distribution: Distribution | None = None

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Everything that was estimated."""
        return (*(share for _, share in self.shares), *(() if self.mean is None else (self.mean,)))


def estimate(metric: Metric, tally: Tally) -> MetricEstimate:
    """Return what a tally of the metric's own edition tells.

    Raises:
        ValueError: if the tally is not of the channel's alphabet.

    """
    counts = tally.dense(metric.channel.symbols)
    domain = metric.domain
    shares: tuple[tuple[bool | str, Estimate], ...] = ()
    mean, distribution = None, None
    if isinstance(domain, Number):
        mean, distribution = _number_estimates(metric.channel, domain, counts, tally.reports)
    else:
        estimates = _share_estimates(inverse_of(metric.channel), counts, tally.reports)
        shares = tuple(zip(domain.labels, estimates, strict=True))
    return MetricEstimate(metric, tally.window, tally.closed, tally.reports, shares, mean, distribution)


def _share_estimates(inverse: Inverse, counts: Counts, reports: int) -> list[Estimate]:
    lows, highs = (ends.tolist() for ends in inverse.intervals(counts, reports))
    if reports == 0:
        return [Estimate(None, None, low, high, None) for low, high in zip(lows, highs, strict=True)]
    columns = (
        inverse.shares(counts, reports).tolist(),
        inverse.standard_errors(counts, reports).tolist(),
        lows,
        highs,
        maximum_likelihood(inverse, counts).tolist(),
    )
    return [Estimate(*row) for row in zip(*columns, strict=True)]


def _number_estimates(
    channel: Channel, domain: Number, counts: Counts, reports: int
) -> tuple[Estimate, Distribution | None]:
    least, greatest = float(domain.low), float(domain.high)
    decoder = decoder_of(channel)
    if decoder is None:
        return _share_estimates(inverse_of(channel), counts, reports)[1].between(least, greatest), None
    mean = Estimate(*mean_of(decoder, counts, reports), likeliest=None).between(least, greatest)
    if not isinstance(channel, SquareWave):
        return mean, None
    distribution = distribution_of(channel, counts, reports, least, greatest)
    return replace(mean, likeliest=distribution.mean_ml), distribution
