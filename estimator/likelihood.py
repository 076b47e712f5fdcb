"""Maximum likelihood on the simplex: the shares, none negative and of sum 1, that make the tally likeliest.

They are biased where the simplex cuts (near 0 and 1), which is why they stand beside the unbiased estimates and are
named as such.

Where every symbol supports one value the solution is exact: by the conditions of Karush, Kuhn and Tucker, the share of
a value above a common level is linear in its count and the others are 0, as in filling a vessel with water (Boyd &
Vandenberghe 2004, "Convex optimization", example 5.2).

Everywhere else it is found by accelerated projected gradients (Beck & Teboulle 2009, "A fast iterative
shrinkage-thresholding algorithm for linear inverse problems", section 4, with backtracking; restarts as O'Donoghue &
Candes 2015, section 3.2), from the point of the simplex that is nearest to the unbiased estimate, through the channel's
operators alone. Expectation maximisation would need about 1 / (p - q)**2 rounds, accelerated or not a multiple of
these: near a uniform law of symbols the curvature is almost the same in all directions, where gradients are quick and
expectation maximisation is slow.

It stops when no shares could make the tally likelier by more than k * `SLACK` in natural logarithm, known without
knowing the likeliest: the logarithm is concave, so that it rises from some shares to any others by at most
n * (max over v of the expectation of frequency / law of the symbol given v, less 1) (Lindsay 1983, "The geometry of
mixture likelihoods", theorem 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from estimator.intervals import Floats
from estimator.inverse.protocol import Inverse
from estimator.inverse.support import Support
from estimator.simplex import nearest_shares
from estimator.tallies import Counts

SLACK = 0.001
"""Natural logarithm of a likelihood ratio, for each of the k shares: on average 4 % of a standard error each."""

ROUNDING = 2.0**-42
"""Of n, where k * `SLACK` is less: mean logarithms of 64-bit sums of transforms are not more exact than this."""

MAX_ROUNDS = 1000
"""Some dozens are usual; a tally that no population makes likely may take more, and gets the best of these."""

GROWTH = 1.1
"""Of the step in a round that succeeds: the curvature on the way may be less than where the climb began."""


WRITTEN_OUT = 2**17
"""Probabilities of a law that is written out at most, 1 MB: up to there a table is quicker than the transforms."""

REMEMBERED = 16
"""Laws that are kept written out for the next window of the same metric."""


class Law(Protocol):
    """A channel's law, as operators on one population of k inputs and m symbols."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (m,), in a population of such shares, shape (k,)."""

    def expectations(self, values: Floats, /) -> Floats:
        """Return what each input, shape (k,), expects of a value of the symbol, shape (m,)."""


def maximum_likelihood(inverse: Inverse, counts: Counts) -> Floats:
    """Return the likeliest shares, shape (k,).

    Args:
        inverse: the channel's.
        counts: the count of each symbol, shape (m,), at least one of them above 0.

    """
    if isinstance(inverse, Support):
        return _filled(inverse, counts)
    nearest = nearest_shares(inverse.shares(counts, int(counts.sum())))
    law: Law = inverse
    if counts.size * nearest.size <= WRITTEN_OUT:
        law = _written_out(inverse, nearest.size)
    return climbed(law, counts, nearest)


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A law written out: the probability of each symbol given each input, shape (k, m)."""

    probabilities: Floats

    def symbol_law(self, shares: Floats) -> Floats:
        """See `Law`."""
        law: Floats = shares @ self.probabilities
        return law

    def expectations(self, values: Floats, /) -> Floats:
        """See `Law`."""
        expected: Floats = self.probabilities @ values
        return expected


@lru_cache(maxsize=REMEMBERED)
def _written_out(inverse: Inverse, inputs: int) -> Law:
    """Return a law that is written out: a climb asks for it in each of its rounds, and a job climbs for each window."""
    return _Table(np.array([inverse.symbol_law(unit) for unit in np.eye(inputs)]))


def _filled(support: Support, counts: Counts) -> Floats:
    falling = np.sort(counts)[::-1].astype(np.float64)
    sizes = np.arange(1, counts.size + 1)
    totals = np.cumsum(falling)
    gap, other = float(support.own - support.other), float(support.other)
    per_count = (gap + sizes * other) / totals
    positive = int(np.count_nonzero(falling * per_count > other))
    shares: Floats = np.maximum(0.0, (counts * per_count[positive - 1] - other) / gap)
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Some shares of sum 1, their law of symbols, the mean logarithm of a report's likelihood, and its gradient."""

    shares: Floats
    law: Floats
    value: float
    slope: Floats

    @property
    def bound(self) -> float:
        """What the mean logarithm is at most, anywhere on the simplex."""
        return self.value + float(self.slope.max()) - 1


@dataclass(frozen=True, slots=True, eq=False)
class _Climb:
    """The climb of the likelihood of one tally.

    Attributes:
        operators: the channel's law.
        frequencies: of the symbols, of sum 1.

    """

    operators: Law
    frequencies: Floats

    def law(self, shares: Floats) -> Floats:
        """Return the law of some shares: above 0 also of symbols that nobody there reports, for their logarithms."""
        law: Floats = np.maximum(self.operators.symbol_law(shares), np.finfo(float).tiny)
        return law

    def at(self, shares: Floats, law: Floats) -> _Point:
        """Return the point of some shares and their law, which is above 0."""
        value = float(self.frequencies @ np.log(law))
        return _Point(shares, law, value, self.operators.expectations(self.frequencies / law))

    def first_step(self, point: _Point) -> float:
        """Return the inverse of the curvature along the slope."""
        direction = point.slope - point.slope.mean()
        length = float(direction @ direction)
        curvature = float(self.frequencies @ (self.operators.symbol_law(direction) / point.law) ** 2)
        return length / curvature if curvature else 1.0

    def moved(self, start: _Point, step: float) -> tuple[Floats, Floats, float, float]:
        """Return shares up the slope, law, mean logarithm and step; halved till the logarithm is no less than promised.

        The promise is that of a parabola of curvature 1 / step, below the logarithm once the step is short enough.
        """
        while True:
            shares = nearest_shares(start.shares + step * start.slope)
            law, change = self.law(shares), shares - start.shares
            value = float(self.frequencies @ np.log(law))
            if value >= start.value + start.slope @ change - change @ change / (2 * step) - ROUNDING:
                return shares, law, value, step
            step /= 2


def climbed(operators: Law, counts: Counts, best: Floats) -> Floats:
    """Return the likeliest shares, shape (k,), found from some others of the simplex, ``best`` so far.

    Args:
        operators: the channel's law.
        counts: the count of each symbol, shape (m,), at least one of them above 0.
        best: where to begin, shape (k,).

    """
    reports = int(counts.sum())
    climb = _Climb(operators, counts / reports)
    slack = max(SLACK * best.size / reports, ROUNDING)
    law = climb.law(best)
    ahead = climb.at(best, law)
    value, bound, step, momentum = ahead.value, ahead.bound, climb.first_step(ahead), 1.0
    for _ in range(MAX_ROUNDS):
        if bound - value <= slack:
            break
        shares, law_there, value_there, step = climb.moved(ahead, step)
        if momentum > 1 and ahead.slope @ (shares - best) < 0:  # too far: again from the best, without momentum
            ahead, momentum = climb.at(best, law), 1.0
        else:
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            weight, momentum = (momentum - 1) / following, following
            law_ahead = law_there + weight * (law_there - law)
            if law_ahead.min() > 0:
                ahead = climb.at(shares + weight * (shares - best), law_ahead)
            else:  # no law: such shares are beyond the simplex
                ahead, momentum = climb.at(shares, law_there), 1.0
            best, law, value = shares, law_there, value_there
            step *= GROWTH
        bound = min(bound, ahead.bound)
    return best
