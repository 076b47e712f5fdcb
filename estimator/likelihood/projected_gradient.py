"""The climb to the likeliest shares of the simplex, of many tallies side by side, through a channel's operators alone.

By accelerated projected gradients (Beck & Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm for linear
inverse problems", section 4, with backtracking; restarts as O'Donoghue & Candes 2015, section 3.2). Expectation
maximisation would need about 1 / (p - q)**2 rounds, accelerated or not a multiple of these: near a uniform law of
symbols the curvature is almost the same in all directions, where gradients are quick and expectation maximisation is
slow.

It stops when no shares could make the tally likelier by more than k * `SLACK` in natural logarithm, known without
knowing the likeliest: the logarithm is concave, so that it rises from some shares to any others by at most
n * (max over v of the expectation of frequency / law of the symbol given v, less 1) (Lindsay 1983, "The geometry of
mixture likelihoods", theorem 4.1).

Arrays have a row a tally; what is one number of each tally has shape (tallies, 1).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.simplex import nearest_shares

SLACK = 0.001
"""Natural logarithm of a likelihood ratio, for each of the k shares: on average 4 % of a standard error each."""

ROUNDING = 2.0**-42
"""Of n, where k * `SLACK` is less: mean logarithms of 64-bit sums of transforms are not more exact than this."""

MAX_ROUNDS = 1000
"""Some dozens are usual; a tally that no population makes likely may take more, and gets the best of these."""

GROWTH = 1.1
"""Of the step in a round that succeeds: the curvature on the way may be less than where the climb began."""


class Law(Protocol):
    """A channel's law, as operators on populations of k inputs and m symbols."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), in a population of such shares, shape (..., k)."""

    def expectations(self, values: Floats, /) -> Floats:
        """Return what each input, shape (..., k), expects of a value of the symbol, shape (..., m)."""


class _Climb(NamedTuple):
    """Where the climb of each tally is.

    Attributes:
        frequencies: of its symbols, of sum 1.
        slack: of the mean logarithm of a report's likelihood: what is no farther from the most it can be has arrived.
        best: the likeliest shares so far.
        law: theirs, of the symbols.
        value: their mean logarithm.
        ahead: shares of sum 1, perhaps beyond the best, from which the next step is taken.
        value_ahead: their mean logarithm.
        slope: its gradient.
        bound: what the mean logarithm is at most, anywhere on the simplex.
        step: how far along the slope the next step is tried.
        momentum: how much further than the best the next step begins, as Beck & Teboulle count it.

    """

    frequencies: Floats
    slack: Floats
    best: Floats
    law: Floats
    value: Floats
    ahead: Floats
    value_ahead: Floats
    slope: Floats
    bound: Floats
    step: Floats
    momentum: Floats

    def of(self, rows: NDArray[np.bool_ | np.int64]) -> _Climb:
        """Return the climbs of some tallies."""
        return _Climb(*(part[rows] for part in self))


def climbed(operators: Law, counts: Counts, start: Floats) -> Floats:
    """Return the likeliest shares, shape (..., k).

    Args:
        operators: the channel's law.
        counts: the count of each symbol, shape (..., m), in each tally at least one of them above 0.
        start: some shares of the simplex, shape (..., k).

    """
    found = start.reshape(-1, start.shape[-1]).copy()
    climb = _begun(operators, counts.reshape(-1, counts.shape[-1]), found)
    left = np.arange(len(found))
    for _ in range(MAX_ROUNDS):
        below = (climb.bound - climb.value > climb.slack)[:, 0]
        left, climb = left[below], climb.of(below)
        if not left.size:
            break
        climb = _risen(operators, climb)
        found[left] = climb.best
    return found.reshape(start.shape)


def _begun(operators: Law, counts: Counts, start: Floats) -> _Climb:
    reports = counts.sum(axis=-1, keepdims=True)
    frequencies, law = counts / reports, _law(operators, start)
    value, slope, bound = _seen(operators, frequencies, law)
    direction = slope - slope.mean(axis=-1, keepdims=True)
    curvature = _product(frequencies, (operators.symbol_law(direction) / law) ** 2)  # along the slope
    is_curved = curvature > 0
    step = np.where(is_curved, _product(direction, direction) / np.where(is_curved, curvature, 1.0), 1.0)
    slack = np.maximum(SLACK * start.shape[-1] / reports, ROUNDING)
    return _Climb(
        *(frequencies, slack), *(start, law, value), *(start, value, slope, bound), step, momentum=np.ones_like(step)
    )


def _risen(operators: Law, climb: _Climb) -> _Climb:
    """Return the climbs a round further."""
    shares, law, value, step = _moved(operators, climb)
    way = shares - climb.best
    is_too_far = (climb.momentum > 1) & (_product(climb.slope, way) < 0)  # again from the best, without momentum
    momentum = (1 + np.sqrt(1 + 4 * climb.momentum**2)) / 2
    weight = (climb.momentum - 1) / momentum
    law_ahead = law + weight * (law - climb.law)
    is_beyond = law_ahead.min(axis=-1, keepdims=True) <= 0  # no law: such shares are beyond the simplex
    ahead = np.where(is_too_far, climb.best, np.where(is_beyond, shares, shares + weight * way))
    law_ahead = np.where(is_too_far, climb.law, np.where(is_beyond, law, law_ahead))
    value_ahead, slope, bound = _seen(operators, climb.frequencies, law_ahead)
    return climb._replace(
        best=np.where(is_too_far, climb.best, shares),
        law=np.where(is_too_far, climb.law, law),
        value=np.where(is_too_far, climb.value, value),
        ahead=ahead,
        value_ahead=value_ahead,
        slope=slope,
        bound=np.minimum(climb.bound, bound),
        step=np.where(is_too_far, step, GROWTH * step),
        momentum=np.where(is_too_far | is_beyond, 1.0, momentum),
    )


def _moved(operators: Law, climb: _Climb) -> tuple[Floats, Floats, Floats, Floats]:
    """Return shares up the slope, law, mean logarithm and step; halved till the logarithm is no less than promised.

    The promise is that of a parabola of curvature 1 / step, below the logarithm once the step is short enough.
    """
    shares, law, value = np.empty_like(climb.best), np.empty_like(climb.law), np.empty_like(climb.value)
    step, left = climb.step.copy(), np.arange(len(climb.step))
    while left.size:
        start = climb.of(left)
        shares[left] = nearest_shares(start.ahead + step[left] * start.slope)
        law[left] = _law(operators, shares[left])
        value[left] = _product(start.frequencies, np.log(law[left]))
        way = shares[left] - start.ahead
        rise = _product(start.slope, way) - _product(way, way) / (2 * step[left])
        left = left[(value[left] < start.value_ahead + rise - ROUNDING)[:, 0]]
        step[left] /= 2
    return shares, law, value, step


def _seen(operators: Law, frequencies: Floats, law: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what is seen from a law: the mean logarithm, its gradient, and what it is at most anywhere."""
    value = _product(frequencies, np.log(law))
    slope = operators.expectations(frequencies / law)
    return value, slope, value + slope.max(axis=-1, keepdims=True) - 1


def _law(operators: Law, shares: Floats) -> Floats:
    """Return the law of some shares: above 0 also of symbols that nobody there reports, for their logarithms."""
    law: Floats = np.maximum(operators.symbol_law(shares), np.finfo(float).tiny)
    return law


def _product(some: Floats, others: Floats) -> Floats:
    """Return the scalar product of each row with the other's."""
    product: Floats = (some * others).sum(axis=-1, keepdims=True)
    return product
