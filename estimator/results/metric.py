"""All figures of one metric in one window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from client_sdk.protocol import Label, Metric, Number, Ordinal, Subset, Window
from estimator.results.central import Central
from estimator.results.clusters import Clusters
from estimator.results.distribution import Distribution
from estimator.results.estimate import Estimate, Shares
from estimator.results.joint import Joint
from estimator.results.poisoning import Fakes
from estimator.statistics.arrays import Floats

NOTHING = np.zeros(0)


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
