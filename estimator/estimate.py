"""From a metric and its tally to estimates with their uncertainty.

Standard errors and intervals speak of a population from which the devices are a random sample: they hold the chance of
who reported as well as the noise of the mechanism. For the devices at hand alone they are a little too wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.spec import Metric, Number, Window
from estimator.intervals import binomial_interval
from estimator.inverse import support_of
from estimator.inverse.support import Support
from estimator.likelihood import maximum_likelihood
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

    """

    metric: Metric
    window: Window
    closed: bool
    reports: int
    shares: tuple[tuple[bool | str, Estimate], ...]
    mean: Estimate | None

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
    estimates = _share_estimates(support_of(metric.channel), counts, tally.reports)
    domain = metric.domain
    shares: tuple[tuple[bool | str, Estimate], ...] = ()
    mean = None
    if isinstance(domain, Number):
        mean = estimates[1].between(float(domain.low), float(domain.high))
    else:
        shares = tuple(zip(domain.labels, estimates, strict=True))
    return MetricEstimate(metric, tally.window, tally.closed, tally.reports, shares, mean)


def share_interval(support: Support, count: int, reports: int) -> tuple[float, float]:
    """Return the confidence interval of a share: that of the support's probability, mapped and clipped to 0..1.

    It is never empty: where the whole interval lies beyond an end, that end remains.
    """
    low, high = (
        min(1.0, max(0.0, float(support.slope) * probability + float(support.intercept)))
        for probability in binomial_interval(count, reports)
    )
    return low, high


def _share_estimates(support: Support, counts: Counts, reports: int) -> list[Estimate]:
    intervals = [share_interval(support, count, reports) for count in counts.tolist()]
    if reports == 0:
        return [Estimate(None, None, low, high, None) for low, high in intervals]
    columns = (
        support.shares(counts, reports).tolist(),
        support.standard_errors(counts, reports).tolist(),
        maximum_likelihood(support, counts).tolist(),
    )
    return [
        Estimate(unbiased, standard_error, low, high, likeliest)
        for unbiased, standard_error, likeliest, (low, high) in zip(*columns, intervals, strict=True)
    ]
