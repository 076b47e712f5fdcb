"""The figures of a number's distribution."""

from __future__ import annotations

import msgspec

from estimator.results.record import Record


class Resampled(Record, frozen=True):
    """A figure with an interval by resampling.

    Without reports the interval covers every possible value.

    Attributes:
        estimate: from the smoothed histogram. None without reports.
        low: the lower end of the interval, not above the estimate.
        high: the upper end, not below the estimate.

    """

    estimate: float | None
    low: float
    high: float


class Quantile(Resampled, frozen=True, kw_only=True):
    """The answer that a given part of the people do not exceed.

    Attributes:
        quantile: that part, from 0 to 1.

    """

    quantile: float


class Bin(Resampled, frozen=True, kw_only=True):
    """The share of people whose answers lie in a bin.

    Attributes:
        start: the lower end of the bin; ``from`` in JSON.
        end: the upper end, equal to the lower end if the bin is a single answer; ``to`` in JSON.
        maximum_likelihood: the maximum-likelihood share, without smoothing; the iteration may have
            stopped early. None without reports.

    """

    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    maximum_likelihood: float | None = None


class Distribution(Record, frozen=True, tag_field="interval", tag="resampled"):
    """The distribution of a number's answers, on the scale of the domain.

    Attributes:
        variance: in squared units.
        quantiles: one for each probability of ``QUANTILES``.
        bins: rising; they cover the whole range.

    """

    variance: Resampled
    quantiles: tuple[Quantile, ...]
    bins: tuple[Bin, ...]
