"""A channel's distribution, its inverse for shares, and its decoder for means.

The distribution maps the shares of inputs to the probabilities of symbols. The inverse maps a tally
of symbols to the shares of inputs. The decoder has an unbiased score for each symbol, and the mean
of the scores estimates the mean of the answers. The mean squared score of a report for a share
(`Squares`) determines all variances in a plan.
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
"""The number of decoders cached for further windows of the same metrics. Each decoder takes
about 30 kB.
"""

LEAST_NOISE: Final = 6
"""The mean is nearly normal if the mechanism adds at least this variance to the sum of scores, as a
multiple of the squared range. With less noise, a few people at an end of the range may affect the
mean more than the noise does, and a tally may happen to contain none of them. The skewness of a sum
with noise of variance v is at most 2 / sqrt(27 v). With the value 6, normal intervals contain the
true value with a probability of at least 93% in the worst case (measured).
"""


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """The mean squared score of one report, for the share of each value.

    Arrays have shape (inputs,), or (1,) if the mean squares are the same for all values.

    Attributes:
        inputs: the number of values.
        own: the mean squared score if the value is the sender's answer.
        other: the largest mean squared score if the sender has another answer.
        average: the mean squared score, averaged over all other answers of the sender.
        support: the probabilities that a report supports the sender's answer, and that it supports
            another value. None if the score does not depend on support alone.
        least_reports: the minimum number of reports for which a share gets the large-sample
            interval.
        metrics: the number of questions among which the reports are divided. The other fields
            describe a single question.

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
        """The variance of a share estimated from one report, if all shares are equal."""
        share = 1 / self.inputs
        return self.metrics * float((self.own * share + self.average * (1 - share) - share**2).max())

    @property
    def worst(self) -> float:
        """The variance of a share estimated from one report, in the worst population."""
        share = np.clip((self.own - self.other) / 2, 0.0, 1.0)
        return self.metrics * float((self.own * share + self.other * (1 - share) - share**2).max())

    def variance(self, share: float) -> float:
        """Return the variance from one report, in the worst population with the given share."""
        return self.metrics * float((self.own * share + self.other * (1 - share) - share**2).max())


class ChannelLaw(Protocol):
    """The linear map from shares of k inputs to probabilities of m symbols, and its adjoint."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m). Shares have shape (..., k)."""

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score for each input, shape (..., k). Scores have shape (..., m)."""


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """A channel's distribution, stored as a table.

    Attributes:
        table: the probability of each symbol given each input, shape (k, m).

    """

    table: Floats

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        law: Floats = shares @ self.table
        return law

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input."""
        expected: Floats = scores @ self.table.T
        return expected


class Inverse(ChannelLaw, Protocol):
    """The inverse of a channel with k inputs and m symbols. It accepts one tally or an array.

    Each symbol has a score. An estimate is the mean of the scores of the reported symbols.
    """

    def __hash__(self) -> int:
        """Return a hash, because inverses are used as keys of caches."""

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each input's share, shape (..., k).

        An estimate may lie outside 0..1. It is never clipped, because clipping would bias it.

        Args:
            counts: the count of each symbol, shape (..., m).
            reports: n, the sum of the counts, at least 1.

        """

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), above 0.

        It describes people who are sampled at random.
        """

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, each of shape (..., k), within 0..1.

        No interval is empty. If ``family`` is above 1, this many intervals are valid
        simultaneously, with the confidence of a single interval.
        """

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each symbol, shape (m,), for a weighted sum of shares, shape (k,).

        The covariance of all shares is computed from such scores.
        """

    def squares(self, inputs: int) -> Squares:
        """Return the mean squared scores of a report, for the sender's answer and for others.

        Args:
            inputs: the number of values.

        """

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of a report, for each share.

        Both arrays have shape (k,), or (1,) if all shares have the same extremes.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """Unbiased scores of a channel's symbols. The ends of the range are 0 and 1.

    Attributes:
        scores: the score of each symbol, shape (symbols,).
        squares: the expected squared score for each input, shape (inputs,).
        least_squares: for each input, the minimum expected squared score over all populations whose
            mean is this input, shape (inputs,).
        least_noises: for each input, the minimum variance that the mechanism adds, over all
            populations whose mean is this input, shape (inputs,).

    """

    scores: Floats
    squares: Floats
    least_squares: Floats = field(init=False, repr=False)
    least_noises: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the minimum squares and noises once, because every window uses them."""
        points = np.linspace(0.0, 1.0, self.squares.size)
        object.__setattr__(self, "least_squares", convex_minorant(self.squares))
        object.__setattr__(self, "least_noises", convex_minorant(self.squares - points * points))

    @property
    def enough(self) -> float:
        """The minimum number of reports for which the mean is nearly normal at any true value."""
        return LEAST_NOISE / float(self.least_variance(np.linspace(0.0, 1.0, self.squares.size)).min())

    def least_variance(self, means: Floats) -> Floats:
        """Return the minimum variance of a report's score for each true mean from 0 to 1.

        For example, if the expected square is a convex function of the input, the variance is
        smallest when all people have the same answer.
        """
        points = np.linspace(0.0, 1.0, self.squares.size)
        least: Floats = np.interp(means, points, self.least_squares) - means * means
        return least

    def least_noise(self, mean: float) -> float:
        """Return the minimum variance that the mechanism adds, for populations with a given mean.

        It may be smaller than `least_variance`, which includes the variance of people's answers.
        The two minima can belong to different populations: if answers differ more, the mechanism
        may add less noise, although the total variance is larger.
        """
        return float(np.interp(mean, np.linspace(0.0, 1.0, self.squares.size), self.least_noises))


def floats(exact: Iterable[Fraction]) -> Floats:
    """Return the nearest float of each exact value."""
    return np.array([float(value) for value in exact])


def convex_minorant(values: Floats) -> Floats:
    """Return the largest convex function on 0, 1, … that exceeds no value, shape (k,).

    The function's corners are found from left to right. A corner is removed if it lies above the
    line from the previous corner to the next value (Andrew 1979, "Another efficient algorithm for
    convex hulls in two dimensions").
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
    """Return whether a corner lies above the line between two other corners."""
    (at, height), (start, low), (end, high) = corner, before, after
    return (height - low) * (end - start) > (high - low) * (at - start)
