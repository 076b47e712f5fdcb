"""The figures of a number's distribution."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from estimator.results.record import Record


class Figure(Record, frozen=True):
    """A figure with an interval, and without a standard error.

    Without reports the interval covers every possible value.

    Attributes:
        estimate: from the smoothed histogram, moved into the interval. None without reports.
        low: the lower end of the interval, not above the estimate.
        high: the upper end, not below the estimate.

    """

    estimate: float | None
    low: float
    high: float

    @classmethod
    def within(cls, interval: tuple[float, float], estimate: float, **rest: Any) -> Self:  # noqa: ANN401 each its own
        """Return the figure of an interval, with an estimate moved to the nearer end if outside."""
        low, high = interval
        return cls(min(high, max(low, estimate)), low, high, **rest)


class Quantile(Figure, frozen=True, kw_only=True):
    """The answer that a given part of the devices do not exceed.

    Attributes:
        quantile: that part, from 0 to 1.

    """

    quantile: float


class AtMost(Figure, frozen=True, kw_only=True):
    """The share of devices that gave an answer or a lower one: the distribution function there.

    Attributes:
        at: the answer.

    """

    at: float


class Range(Figure, frozen=True, kw_only=True):
    """The share of devices whose answers lie in a range.

    Attributes:
        start: the lower end of the range; ``from`` in JSON.
        end: the upper end; ``to`` in JSON.

    """

    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")


class Bin(Range, frozen=True, kw_only=True):
    """The share of devices whose answers lie in a bin; both ends are equal if it is one answer.

    Attributes:
        maximum_likelihood: the maximum-likelihood share, without smoothing; the iteration may have
            stopped early. None without reports.

    """

    maximum_likelihood: float | None = None


class Distribution(Record, frozen=True):
    """The distribution of a number's answers, on the scale of the domain.

    Attributes:
        variance: in squared units.
        quantiles: one for each probability of ``QUANTILES``.
        band: the distribution function at rising answers, from the least to the greatest. Its
            intervals hold together. Between two answers the function lies between the lower end at
            the first and the upper end at the second.
        bins: rising; they cover the whole range.
        ranges: those that were asked for.

    """

    variance: Figure
    quantiles: tuple[Quantile, ...]
    band: tuple[AtMost, ...]
    bins: tuple[Bin, ...]
    ranges: tuple[Range, ...] = ()
