"""A channel's distribution, its inverse for shares, and its decoder for means.

A channel is a mechanism with its parameters. A device encodes its answer as one of k inputs, and
the channel draws one of m symbols for this input.

* The *distribution* maps the shares of the inputs to the probabilities of the symbols.
* The *inverse* maps a tally of symbols to estimated shares of the inputs.
* The *decoder* gives each symbol a score. The mean score of all reports is an unbiased estimate of
  the mean answer.

The mean squared score of a report (`Squares`) determines all standard errors in a plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.confidence import EXACT_BELOW

REMEMBERED = 16
"""The maximum number of decoders in the cache. Each decoder takes about 30 kB."""

LEAST_NOISE: Final = 6
"""The minimum variance of the noise in the sum of the scores, if answers are scaled to 0..1.

With less noise, a normal distribution approximates the estimated mean poorly. A few people at an
end of the range may then affect the mean more than the noise does. A tally may contain none of
these people. The skewness of a sum with noise of variance v is at most 2 / sqrt(27 v). With v = 6,
normal intervals contained the true value at least 93% of the time in the worst measured case.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """The mean squared score of a report in the estimate of each value's share.

    Arrays have shape (inputs,), or (1,) if the mean squares are the same for all values.

    Attributes:
        inputs: the number of values.
        own: the mean squared score if the value is the sender's answer.
        other: the largest mean squared score for senders with another answer.
        average: the mean squared score averaged over all answers of the sender except this value.
        support: the probability that a report supports the sender's answer, and the probability
            that the report supports a given other value. None if the score also depends on
            something other than support.
        least_reports: the minimum number of reports for a share's large-sample interval.
        metrics: the number of yes/no questions, one for each value of a set. Each device answers
            one question. The other fields describe a single question.
    """

    inputs: int
    own: Floats
    other: Floats
    average: Floats
    support: tuple[float, float] | None = None
    least_reports: int = EXACT_BELOW
    metrics: int = 1

    @property
    def uniform(self) -> float:
        """The variance of a share estimated from one report, for a population with equal shares."""
        share = 1 / self.inputs
        return self.metrics * float((self.own * share + self.average * (1 - share) - share**2).max())

    @property
    def worst(self) -> float:
        """The largest variance of a share estimated from one report, over all populations."""
        share = np.clip((self.own - self.other) / 2, 0.0, 1.0)
        return self.metrics * float((self.own * share + self.other * (1 - share) - share**2).max())

    def variance(self, share: float) -> float:
        """Return the largest variance of an estimate from one report, given the true share."""
        return self.metrics * float((self.own * share + self.other * (1 - share) - share**2).max())


class ChannelLaw(Protocol):
    """The distribution of a channel's symbols, as a linear map and its adjoint (transpose)."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), given shares of shape (..., k)."""

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a report for each input, given scores of shape (..., m)."""


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """The distribution of a channel's symbols, stored as a table.

    Attributes:
        table: the probability of each symbol given each input, shape (k, m).
    """

    table: Floats

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, for the given shares of inputs."""
        law: Floats = shares @ self.table
        return law

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a report for each input."""
        expected: Floats = scores @ self.table.T
        return expected


class Inverse(ChannelLaw, Protocol):
    """The inverse of a channel with k inputs and m symbols, for one tally or an array of tallies.

    For each share, each symbol has a score. The estimated share is the mean score of the reports.
    """

    def __hash__(self) -> int:
        """Return a hash for caches."""

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each input's share, shape (..., k).

        An estimate may lie outside 0..1. Clipping would bias the estimate.

        Args:
            counts: the count of each symbol, shape (..., m).
            reports: n, the number of reports in each tally, at least 1.
        """

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), above 0.

        The people who report are assumed to be a random sample of a population.
        """

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' 95% intervals, each of shape (..., k), within 0..1.

        No interval is empty. ``family`` is the number of simultaneous intervals.
        """

    def contrast(self, weights: Floats) -> Floats:
        """Return each symbol's score in the estimate of a weighted sum of shares, shape (m,)."""

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's value and for other values."""

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of any symbol, for each share.

        Both arrays have shape (k,), or (1,) if all shares have the same extreme scores.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """The scores of a channel's symbols for estimating the mean answer.

    The mean score of all reports is an unbiased estimate of the mean answer.

    Answers are scaled to the range from 0 to 1. The inputs are the points of an evenly spaced grid.

    Attributes:
        scores: the score of each symbol, shape (symbols,).
        squares: the expected squared score of a report for each input, shape (inputs,).
        least_squares: the minimum expected squared score of a report, for each possible mean answer
            on the grid, shape (inputs,).
        least_noises: the minimum variance of the mechanism's noise in a report, for each possible
            mean answer on the grid, shape (inputs,).
    """

    scores: Floats
    squares: Floats
    least_squares: Floats = field(init=False, repr=False)
    least_noises: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute `least_squares` and `least_noises` only once."""
        points = np.linspace(0.0, 1.0, self.squares.size)
        object.__setattr__(self, "least_squares", convex_minorant(self.squares))
        object.__setattr__(self, "least_noises", convex_minorant(self.squares - points * points))

    @property
    def enough(self) -> float:
        """The minimum number of reports for a nearly normal estimate, whatever the true mean is."""
        return LEAST_NOISE / float(self.least_variance(np.linspace(0.0, 1.0, self.squares.size)).min())

    def least_variance(self, means: Floats) -> Floats:
        """Return the minimum variance of a report's score, over populations with a given mean."""
        points = np.linspace(0.0, 1.0, self.squares.size)
        least: Floats = np.interp(means, points, self.least_squares) - means * means
        return least

    def least_noise(self, mean: float) -> float:
        """Return the minimum variance of the mechanism's noise, over populations with a given mean.

        The result may be smaller than `least_variance`, which includes the variance of people's
        answers. The two minima can belong to different populations.
        """
        return float(np.interp(mean, np.linspace(0.0, 1.0, self.squares.size), self.least_noises))


def floats(exact: Iterable[Fraction]) -> Floats:
    """Return the nearest float of each exact value."""
    return np.array([float(value) for value in exact])


def convex_minorant(values: Floats) -> Floats:
    """Return the largest convex function that lies at or below all values, shape (k,).

    The values belong to the arguments 0, 1, and so on. The function consists of straight lines
    between corners. A corner is removed if it lies above the line between its neighbors (Andrew
    1979, "Another efficient algorithm for convex hulls in two dimensions").
    """
    corners: list[tuple[int, float]] = []
    for corner in enumerate(values.tolist()):
        while len(corners) > 1 and _is_above(corners[-1], corners[-2], corner):
            corners.pop()
        corners.append(corner)
    places, heights = zip(*corners, strict=True)
    minorant: Floats = np.interp(np.arange(values.size), places, heights)
    return minorant


def _is_above(corner: tuple[int, float], before: tuple[int, float], after: tuple[int, float]) -> bool:
    (at, height), (start, low), (end, high) = corner, before, after
    return (height - low) * (end - start) > (high - low) * (at - start)
