"""The figures of a number's distribution."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resampled:
    """A figure with an interval by resampling; without reports only the interval is known, and it is everything.

    Attributes:
        estimate: from the smoothed histogram.
        low: the lower end of the interval, not above the estimate.
        high: its upper end, not below the estimate.

    """

    estimate: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a tally tells of a distribution, on the scale of the domain.

    Attributes:
        bins: the ends of each, rising; both the same where a bin is one answer.
        shares: of the bins, smoothed.
        shares_ml: of the bins, likeliest without smoothing (or stopped on the way there), or nothing without reports.
        mean_ml: the mean of the likeliest shares, or none.
        variance: in squared units.
        quantiles: for each probability of ``QUANTILES`` the value that so many people do not exceed.

    """

    bins: tuple[tuple[float, float], ...]
    shares: tuple[Resampled, ...]
    shares_ml: tuple[float, ...]
    mean_ml: float | None
    variance: Resampled
    quantiles: tuple[tuple[float, Resampled], ...]
