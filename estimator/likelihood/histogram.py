"""Histograms of numeric answers, fitted to tallies.

A histogram contains the share of people in each bin of a numeric metric's range. Each tally gets
two histograms:

* The most likely histogram, found by expectation maximization (Li et al. 2020, section 5.4). With
  many bins, this histogram fits the noise.
* A smoothed histogram. After each step of expectation maximization, each share is averaged with the
  shares of both neighboring bins. The weights are (1, 2, 1) / 4 (EMS, same section). Smoothing
  biases the shares slightly where the density is curved.

Squared extrapolation accelerates the steps (Varadhan & Roland 2008, "Simple and globally convergent
methods for accelerating the convergence of any EM algorithm", scheme SqS3). Many tallies of a
metric are fitted together in one array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds.grid import Grid
from estimator.decoders.decoder import REMEMBERED, ChannelLaw
from estimator.decoders.inversions import grid_law
from estimator.statistics.arrays import Counts, Floats

SMALL_STEP = 1e-6
"""The iteration ends when a step moves less than this share of the people between bins. A limit ten
times as large would make the fitted shares less accurate.
"""

MAX_ACCELERATED = 300
"""The maximum number of rounds of a fit. Each round takes three steps and one extrapolation.

Smoothed shares need about 80 rounds at epsilon .5. Unsmoothed shares may need more rounds than this
maximum. Further rounds would only fit the noise.
"""

LEAST_OF_A_STEP = 0.1
"""The minimum share of a bin after an extrapolation, as a fraction of its share before. A share of
0 could never rise again.
"""

LONGEST_STEP = 1e6
"""The maximum number of steps that one extrapolation replaces. When shares hardly move, rounding
errors make the computed number of steps meaningless.
"""

AT_ONCE = 50
"""The maximum number of tallies fitted together. Larger arrays exceed the processor's cache, and
the fit of each tally then takes twice as long.
"""


@dataclass(frozen=True, eq=False)
class Histogram:
    """The bins of a numeric metric, and the probability of each symbol for an answer in each bin.

    For some metrics, such as counts, each input of the channel is one answer. Each bin then
    consists of the answer of one input. For other metrics, the inputs are points of a grid, and
    each bin lies between two neighboring points. The device rounds an answer at random to one end
    of its bin. The nearer end is more likely than the other end. If answers are spread evenly over
    a bin, devices round half of them up (Li et al. 2020, sections 5.3 and 5.4).

    Attributes:
        law: the probability of each symbol for each input.
        lows: the lower end of each bin, in rising order.
        highs: the upper end of each bin. If a bin is a single answer, both ends are equal.

    """

    law: ChannelLaw
    lows: Floats
    highs: Floats

    @classmethod
    @lru_cache(maxsize=REMEMBERED)
    def from_channel(cls, channel: Channel, domain: Grid) -> Histogram:
        """Return the bins of a metric, given its channel and the grid ``domain`` of its answers."""
        points = np.linspace(float(domain.low), float(domain.high), channel.inputs)
        if domain.size == channel.inputs:
            return cls(grid_law(channel), points, points)
        return cls(grid_law(channel), points[:-1], points[1:])

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self.lows.size

    @property
    def is_of_points(self) -> bool:
        """Whether each bin is a single answer."""
        return bool(self.lows[0] == self.highs[0])

    @property
    def points(self) -> Floats:
        """The answers that the channel's inputs represent, in rising order, shape (inputs,)."""
        return self.lows if self.is_of_points else np.append(self.lows, self.highs[-1])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return each symbol's probability, shape (..., symbols), for given shares of the bins."""
        if self.is_of_points:
            return self.law.symbol_law(shares)
        ends = np.zeros((*shares.shape[:-1], self.bins + 1))
        ends[..., :-1] += shares / 2
        ends[..., 1:] += shares / 2
        return self.law.symbol_law(ends)

    @cached_property
    def table(self) -> Floats:
        """The probability of each symbol for each bin, shape (bins, symbols)."""
        return self.symbol_law(np.eye(self.bins))

    def expectations(self, values: Floats) -> Floats:
        """Return the expected value of a report for an answer in each bin, shape (..., bins).

        ``values`` contains one value per symbol.
        """
        at_inputs = self.law.expectations(values)
        if self.is_of_points:
            return at_inputs
        expected: Floats = (at_inputs[..., :-1] + at_inputs[..., 1:]) / 2
        return expected

    def mean(self, shares: Floats) -> Floats:
        """Return the mean answer, shape (...), as if answers were spread evenly within each bin."""
        mean: Floats = shares @ (self.lows + self.highs) / 2
        return mean

    def variance(self, shares: Floats) -> Floats:
        """Return the variance of the answers, shape (...).

        Answers are assumed to be spread evenly within each bin.
        """
        deviations = (self.lows + self.highs) / 2 - self.mean(shares)[..., np.newaxis]
        variance: Floats = (shares * deviations**2).sum(axis=-1) + (self.highs[0] - self.lows[0]) ** 2 / 12
        return variance

    def at_most(self, shares: Floats, answers: Floats) -> Floats:
        """Return the share of people with an answer of at most x, for each x in ``answers``.

        ``shares`` has shape (bins,). Answers are assumed to be spread evenly within each bin.
        """
        sums = np.append(0.0, np.cumsum(shares))
        if self.is_of_points:
            reached: Floats = sums[np.searchsorted(self.lows, answers, side="right")]
            return reached
        between: Floats = np.interp(answers, self.points, sums)
        return between

    def share_between(self, shares: Floats, start: float, end: float) -> float:
        """Return the share of answers from ``start`` to ``end``, both included."""
        below, up_to = self.at_most(shares, np.array([start, end])).tolist()
        at_start = float(shares[self.lows == start].sum()) if self.is_of_points else 0.0
        return float(up_to - below + at_start)

    def quantiles(self, shares: Floats, probabilities: tuple[float, ...]) -> Floats:
        """Return quantiles of the answers, shape (..., probabilities).

        Answers are assumed to be spread evenly within each bin. If bins are single answers, the
        quantile for a probability p is the smallest answer with a cumulative share of at least p.
        """
        sums = np.cumsum(shares, axis=-1).reshape(-1, self.bins)
        rows = [self._quantiles(row / row[-1], probabilities) for row in sums]
        return np.array(rows).reshape(*shares.shape[:-1], len(probabilities))

    def _quantiles(self, sums: Floats, probabilities: tuple[float, ...]) -> Floats:
        if self.is_of_points:
            reached: Floats = self.lows[np.minimum(np.searchsorted(sums, probabilities), self.bins - 1)]
            return reached
        between: Floats = np.interp(probabilities, np.concatenate([[0.0], sums]), self.points)
        return between


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Two histograms fitted to the same tally.

    Attributes:
        smoothed: the smoothed shares of the bins, shape (bins,).
        likeliest: the maximum-likelihood shares, shape (bins,). The fit may have ended before it
            reached the maximum.

    """

    smoothed: Floats
    likeliest: Floats


def fit_of(histogram: Histogram, counts: Counts) -> Fit | None:
    """Return the histograms fitted to one tally. Returns None if the tally has no reports."""
    (fit,) = fits_of(histogram, [counts])
    return fit


def fits_of(histogram: Histogram, tallies: Iterable[Counts]) -> Iterator[Fit | None]:
    """Yield the histograms fitted to each tally. A tally without reports yields None.

    ``tallies`` contains the symbol counts of each tally, each of shape (symbols,).
    """
    left = iter(tallies)
    while batch := [*islice(left, AT_ONCE)]:
        with_reports = [counts for counts in batch if counts.any()]
        fits = iter(_together(histogram, np.array(with_reports)) if with_reports else ())
        yield from (next(fits) if counts.any() else None for counts in batch)


def _together(histogram: Histogram, counts: Counts) -> list[Fit]:
    """Return the histograms fitted to several tallies.

    ``counts`` has shape (tallies, symbols). Each tally has at least one report.
    """
    frequencies = counts / counts.sum(axis=-1, keepdims=True)
    smoothed, likeliest = (shares_of(histogram, frequencies, smooth=smooth) for smooth in (True, False))
    return [*map(Fit, smoothed, likeliest)]


def shares_of(
    histogram: Histogram,
    frequencies: Floats,
    *,
    smooth: bool,
    start: Floats | None = None,
) -> Floats:
    """Return the shares of the bins, shape (..., bins), fitted to one or more tallies.

    ``frequencies`` has shape (..., symbols), with sum 1 for each tally. ``start`` contains the
    shares to start from, shape (bins,). If ``start`` is None, the fit starts from equal shares.
    """
    begin = np.full(histogram.bins, 1 / histogram.bins) if start is None else start
    seen = frequencies.reshape(-1, frequencies.shape[-1])
    parts = (seen[first : first + AT_ONCE] for first in range(0, len(seen), AT_ONCE))
    shares = np.concatenate([_accelerated(histogram, part, begin, smooth=smooth) for part in parts])
    return shares.reshape(*frequencies.shape[:-1], histogram.bins)


def _accelerated(histogram: Histogram, seen: Floats, start: Floats, *, smooth: bool) -> Floats:
    shares = np.broadcast_to(start, (len(seen), histogram.bins))
    result, left = np.empty(shares.shape), np.arange(len(seen))
    for _ in range(MAX_ACCELERATED):
        once = stepped(histogram, seen, shares, smooth=smooth)
        result[left] = once
        moving = is_moving(shares, once)
        if not moving.all():  # most tallies finish long before the slowest tally
            left, seen, shares, once = left[moving], seen[moving], shares[moving], once[moving]
        if left.size == 0:
            break
        far = extrapolated(shares, once, stepped(histogram, seen, once, smooth=smooth))
        shares = stepped(histogram, seen, far, smooth=smooth)
    return result


def stepped(law: ChannelLaw, frequencies: Floats, shares: Floats, *, smooth: bool) -> Floats:
    """Return the shares after one step of expectation maximization, shape (..., bins)."""
    reached = shares * law.expectations(frequencies / law.symbol_law(shares))
    return smoothed(reached) if smooth else reached


def is_moving(shares: Floats, once: Floats) -> NDArray[np.bool_]:
    """Return, for each tally, whether a step moved at least `SMALL_STEP` of all people."""
    moving: NDArray[np.bool_] = np.abs(once - shares).sum(axis=-1) >= SMALL_STEP
    return moving


def smoothed(shares: Floats) -> Floats:
    """Return the shares after each bin has passed a quarter of its share to each neighboring bin.

    The first and last bins have only one neighbor. They pass a quarter to this neighbor and keep
    three quarters.
    """
    result, quarters = shares / 2, shares / 4
    result[..., 1:] += quarters[..., :-1]
    result[..., :-1] += quarters[..., 1:]
    result[..., 0] += quarters[..., 0]
    result[..., -1] += quarters[..., -1]
    return result


def possible(far: Floats, reached: Floats) -> Floats:
    """Correct extrapolated shares: each share becomes positive, and their sum becomes 1.

    ``reached`` contains the shares before the extrapolation.
    """
    result = np.maximum(far, LEAST_OF_A_STEP * reached)
    result /= result.sum(axis=-1, keepdims=True)
    return result


def extrapolated(shares: Floats, once: Floats, twice: Floats) -> Floats:
    """Return an estimate of the shares after very many steps of expectation maximization.

    The first step from ``shares`` leads to the shares ``once``, and the second step to ``twice``.
    The estimate is exact if each step is shorter than the previous step by the same factor.
    """
    first, change = once - shares, twice - 2 * once + shares
    steady = np.maximum(_length(change), np.finfo(float).tiny)
    reach = np.clip(_length(first) / steady, 1.0, LONGEST_STEP)
    return possible(shares + 2 * reach * first + reach**2 * change, twice)


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    return length
