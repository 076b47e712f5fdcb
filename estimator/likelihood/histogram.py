"""A histogram: its bins, the channel's law given each bin, and mean, variance and quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds.grid import Grid
from estimator.decoders.decoder import REMEMBERED
from estimator.decoders.inversions import grid_law
from estimator.decoders.protocol import ChannelLaw
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Histogram:
    """The bins of a number, and the law of a channel given each bin.

    If every input stands for one answer, as with a count, so does each bin. Otherwise the inputs
    are points of a grid and the bins lie between them. An answer within a bin is rounded at random
    to one of the bin's ends, more often to the nearer one, and answers spread evenly over a bin are
    rounded to each end half the time (Li et al. 2020, section 5.3 and 5.4).

    Attributes:
        law: of the symbols given each input.
        lows: the lower end of each bin, rising.
        highs: the upper end, equal to the lower end if a bin is a single answer.

    """

    law: ChannelLaw
    lows: Floats
    highs: Floats

    @classmethod
    @lru_cache(maxsize=REMEMBERED)
    def of(cls, channel: Channel, domain: Grid) -> Histogram:
        """Return the histogram of a domain whose answers a channel reports."""
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
        """The answers that the channel's inputs stand for, rising, shape (inputs,)."""
        return self.lows if self.is_of_points else np.append(self.lows, self.highs[-1])

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol: shape (..., bins) to (..., symbols)."""
        if self.is_of_points:
            return self.law.symbol_law(shares)
        ends = np.zeros((*shares.shape[:-1], self.bins + 1))
        ends[..., :-1] += shares / 2
        ends[..., 1:] += shares / 2
        return self.law.symbol_law(ends)

    @cached_property
    def table(self) -> Floats:
        """The probability of each symbol given each bin, shape (bins, symbols)."""
        return self.symbol_law(np.eye(self.bins))

    def expectations(self, values: Floats) -> Floats:
        """Return the expected value given each bin: shape (..., symbols) to (..., bins)."""
        at_inputs = self.law.expectations(values)
        if self.is_of_points:
            return at_inputs
        expected: Floats = (at_inputs[..., :-1] + at_inputs[..., 1:]) / 2
        return expected

    def mean(self, shares: Floats) -> Floats:
        """Return the mean of answers spread evenly over each bin: shape (..., bins) to (...)."""
        mean: Floats = shares @ (self.lows + self.highs) / 2
        return mean

    def variance(self, shares: Floats) -> Floats:
        """Return the variance of answers spread evenly over each bin: (..., bins) to (...)."""
        deviations = (self.lows + self.highs) / 2 - self.mean(shares)[..., np.newaxis]
        variance: Floats = (shares * deviations**2).sum(axis=-1) + (self.highs[0] - self.lows[0]) ** 2 / 12
        return variance

    def at_most(self, shares: Floats, answers: Floats) -> Floats:
        """Return the share of people who give an answer or a lower one, for each of some answers.

        Answers are spread evenly over each bin.

        Args:
            shares: of the bins, shape (bins,).
            answers: within the range, shape (answers,).

        """
        sums = np.append(0.0, np.cumsum(shares))
        if self.is_of_points:
            reached: Floats = sums[np.searchsorted(self.lows, answers, side="right")]
            return reached
        between: Floats = np.interp(answers, self.points, sums)
        return between

    def share_between(self, shares: Floats, start: float, end: float) -> float:
        """Return the share of people whose answers lie from ``start`` to ``end``."""
        below, up_to = self.at_most(shares, np.array([start, end])).tolist()
        at_start = float(shares[self.lows == start].sum()) if self.is_of_points else 0.0
        return float(up_to - below + at_start)

    def quantiles(self, shares: Floats, probabilities: tuple[float, ...]) -> Floats:
        """Return the quantiles: shape (..., bins) to (..., probabilities).

        Answers are spread evenly over each bin. If bins are single answers, a quantile is the least
        answer that the given part of the people do not exceed.
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
