"""A channel's law, its inverse for shares, and its decoder for means.

The law maps the shares of inputs to the probabilities of symbols, the inverse maps a tally of
symbols to the shares of inputs. The mean squares of one report's score for a share (`Squares`)
determine every variance of a plan. The decoder has an unbiased score for each symbol; the mean of
the scores estimates that of the answers.
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
"""Decoders kept for the next window of the same metric: some 30 kB each."""

LEAST_NOISE: Final = 6
"""The minimum variance, in squares of the range, that the mechanism must add to a sum of scores for
its mean to be about normal. If it adds less, a few people at an end of the range may outweigh it,
and a tally that contains none of them does not show this: the skewness of a sum with noise of
variance v is at most 2 / sqrt(27 v). With 6, normal intervals contain the true value with at least
93% in the worst case (measured).
"""


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """Mean squares of a report's score for a share.

    There is an entry for each value, or a single one if it is the same for all values.

    Attributes:
        inputs: the number of values.
        own: if the value is the sender's answer; shape (inputs,) or (1,), as for the two below.
        other: if it is not: for the answer with the largest square.
        average: if it is not: averaged over the other answers.
        support: how often a report supports the sender's answer, and any other value. None if the
            score depends on more than support.
        least_reports: the number of reports from which a share has its large-sample interval.
        metrics: the number of questions that divide the reports; other fields are about one of
            them.

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
        """The variance of a share if all shares are equal."""
        share = 1 / self.inputs
        return self.metrics * float((self.own * share + self.average * (1 - share) - share**2).max())

    @property
    def worst(self) -> float:
        """The variance of a share in the worst population for it."""
        share = np.clip((self.own - self.other) / 2, 0.0, 1.0)
        return self.metrics * float((self.own * share + self.other * (1 - share) - share**2).max())

    def variance(self, share: float) -> float:
        """Return the variance of a share in the worst population with that share."""
        return self.metrics * float((self.own * share + self.other * (1 - share) - share**2).max())


class ChannelLaw(Protocol):
    """The law of a channel with k inputs and m symbols, and its adjoint."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol in a population: shape (..., k) to (..., m)."""

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input: shape (..., m) to (..., k)."""


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """A law as a table.

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
    """The inverse of a channel with k inputs and m symbols, for one tally or many at once.

    A report of a symbol adds the symbol's score to an estimate; the estimate is the mean of the
    scores.
    """

    def __hash__(self) -> int:
        """Inverses are cached, and are keys of the caches of their tables."""

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each input's share, shape (..., k).

        It may lie outside 0..1 and is never clipped, because clipping would bias it.

        Args:
            counts: the count of each symbol, shape (..., m).
            reports: n, their sum, at least 1.

        """

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k), above 0.

        It describes people sampled at random.
        """

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the ends of the shares' intervals, each of shape (..., k), within 0..1.

        No interval is empty. All intervals of a family are valid simultaneously, with the
        confidence that a single interval would otherwise have.
        """

    def contrast(self, weights: Floats) -> Floats:
        """Return the score of each symbol, shape (m,), for a weighted sum of shares, shape (k,).

        These scores determine all covariances.
        """

    def squares(self, inputs: int) -> Squares:
        """Return the mean squares of a report's score for the share of each of ``inputs``."""

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and largest score of a report for each estimate.

        Both have shape (k,), or (1,) if they are equal for all estimates.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """One unbiased score per symbol, where 0 is the low end of the range and 1 the high end.

    Attributes:
        scores: one per symbol, shape (symbols,).
        squares: the expected square of the score given each input, shape (inputs,).
        least_squares: the minimum expected square, for each input, among people whose mean answer
            it is: some may answer below it and some above. Shape (inputs,).

    """

    scores: Floats
    squares: Floats
    least_squares: Floats = field(init=False, repr=False)
    least_noises: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute both once, because a job uses them in every window."""
        points = np.linspace(0.0, 1.0, self.squares.size)
        object.__setattr__(self, "least_squares", convex_minorant(self.squares))
        object.__setattr__(self, "least_noises", convex_minorant(self.squares - points * points))

    @property
    def enough(self) -> float:
        """The number of reports from which their mean is about normal, whatever the true value."""
        return LEAST_NOISE / float(self.least_variance(np.linspace(0.0, 1.0, self.squares.size)).min())

    def least_variance(self, means: Floats) -> Floats:
        """Return the minimum variance of a report's score at each true mean, from 0 to 1.

        If the expected square is convex in the input, it is that of people with the same answer.
        """
        points = np.linspace(0.0, 1.0, self.squares.size)
        least: Floats = np.interp(means, points, self.least_squares) - means * means
        return least

    def least_noise(self, mean: float) -> float:
        """Return the minimum variance that the mechanism adds to answers with a given true mean.

        It may be below `least_variance`, which assumes that people with that mean differ as little
        as possible. If they differ more, with less noise at their answers, their differences are a
        larger part of the variance.
        """
        return float(np.interp(mean, np.linspace(0.0, 1.0, self.squares.size), self.least_noises))


def floats(exact: Iterable[Fraction]) -> Floats:
    """Return exact values as the nearest floats."""
    return np.array([float(value) for value in exact])


def convex_minorant(values: Floats) -> Floats:
    """Return the largest convex function on 0, 1, … that is nowhere above the values, shape (k,).

    Its corners are found from left to right: a corner above the line from the corner before it to
    the next value is removed (Andrew 1979, "Another efficient algorithm for convex hulls in two
    dimensions").
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
    """Whether a corner lies above the line between two others."""
    (at, height), (start, low), (end, high) = corner, before, after
    return (height - low) * (end - start) > (high - low) * (at - start)
