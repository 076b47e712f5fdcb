"""Maximum-likelihood shares: at least 0, with sum 1 (on the simplex), given a tally.

These shares are biased at the edges of the simplex (near 0 and 1). Reports therefore show them next
to the unbiased estimates, with a label.

If every symbol supports one value, the solution is exact. By the Karush-Kuhn-Tucker conditions, the
share of a value is a linear function of its count, or 0 if the count is below a certain level, as
in water-filling (Boyd & Vandenberghe 2004, "Convex optimization", example 5.2). For other channels,
an iterative search (a climb) finds the solution. It starts at the point of the simplex nearest to
the unbiased estimate.

The climb runs for many tallies together. It uses the channel only through the two linear maps
`symbol_law` and `expectations`. The method is accelerated projected gradients (Beck & Teboulle
2009, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", section 4,
with backtracking; restarts as in O'Donoghue & Candes 2015, section 3.2). Near a uniform
distribution of symbols, the curvature is almost the same in all directions. Gradient methods are
fast there, whereas expectation maximization would need about 1 / (p - q)**2 rounds, even if
accelerated.

The climb stops when no shares could raise the log-likelihood by more than k * `SLACK`. A bound
shows this without knowing the maximum. Because the log-likelihood is concave, no other shares raise
it by more than n * (r - 1). Each symbol has a ratio: its frequency in the tally, divided by its
probability under the shares. For each value v, take the expected ratio of a symbol reported for v;
r is the largest of these (Lindsay 1983, "The geometry of mixture likelihoods", theorem 4.1).

Arrays have one row for each tally. A single number for each tally has shape (tallies, 1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.decoder import ChannelLaw, Inverse, TableLaw
from estimator.decoders.one_of import OneOfShares
from estimator.decoders.pair_geometry import PairShares
from estimator.decoders.support import Support
from estimator.statistics.arrays import Counts, Floats, nearest_shares

SLACK = 0.001
"""The distance from the maximum log-likelihood, per share, at which a climb may end. The error that
this causes in each share is about 4% of the standard error.
"""

ROUNDING = 2.0**-42
"""The rounding error of a mean log-likelihood that 64-bit transforms compute. The slack is at least
this number times n.
"""

MAX_ROUNDS = 1000
"""The maximum number of rounds of a climb. A few dozen rounds are usual. A tally that is unlikely
in every population may need more rounds. Its climb then returns the best shares so far.
"""

GROWTH = 1.1
"""The factor by which the step grows after a successful round, because the curvature may become
smaller during the climb.
"""


class _Climb(NamedTuple):
    """The state of each tally's climb.

    Attributes:
        frequencies: the frequencies of the tally's symbols, with sum 1.
        slack: the climb ends once the mean log-likelihood per report is this close to its upper
            bound.
        best: the most likely shares so far.
        law: the distribution of the symbols under ``best``.
        value: the mean log-likelihood of ``best``.
        ahead: the shares that the next step starts from, with sum 1. They may lie beyond ``best``.
        value_ahead: the mean log-likelihood of ``ahead``.
        slope: the gradient of the mean log-likelihood at ``ahead``.
        bound: an upper bound on the mean log-likelihood over the whole simplex.
        step: the length of the next step along the slope.
        momentum: how far beyond ``best`` the next step starts (t in Beck & Teboulle).

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

    def selected(self, rows: NDArray[np.bool_ | np.int64]) -> _Climb:
        """Return the climbs of the selected tallies."""
        return _Climb(*(part[rows] for part in self))


def climbed(operators: ChannelLaw, counts: Counts, start: Floats) -> Floats:
    """Return the most likely shares, shape (..., k).

    Args:
        operators: the channel's probabilities of symbols, as two linear maps.
        counts: the count of each symbol, shape (..., m). Each tally has at least one count above 0.
        start: the shares on the simplex to start from, shape (..., k).

    """
    result = start.reshape(-1, start.shape[-1]).copy()
    climb = _begun(operators, counts.reshape(-1, counts.shape[-1]), result)
    left = np.arange(len(result))
    for _ in range(MAX_ROUNDS):
        below = (climb.bound - climb.value > climb.slack)[:, 0]
        left, climb = left[below], climb.selected(below)
        if not left.size:
            break
        climb = _risen(operators, climb)
        result[left] = climb.best
    return result.reshape(start.shape)


def slack(inputs: int, reports: int | Counts) -> Floats:
    """Return how far below the maximum log-likelihood a climb may end.

    Args:
        inputs: the number of shares.
        reports: the number of reports in the tally, or in each tally.

    """
    allowed: Floats = np.maximum(SLACK * inputs, ROUNDING * reports)
    return allowed


def _begun(operators: ChannelLaw, counts: Counts, start: Floats) -> _Climb:
    reports = counts.sum(axis=-1, keepdims=True)
    frequencies, law = counts / reports, _law(operators, start)
    value, slope, bound = _seen(operators, frequencies, law)
    direction = slope - slope.mean(axis=-1, keepdims=True)
    curvature = _product(frequencies, (operators.symbol_law(direction) / law) ** 2)  # the curvature along the slope
    is_curved = curvature > 0
    step = np.where(is_curved, _product(direction, direction) / np.where(is_curved, curvature, 1.0), 1.0)
    return _Climb(
        frequencies=frequencies,
        slack=slack(start.shape[-1], reports) / reports,
        best=start,
        law=law,
        value=value,
        ahead=start,
        value_ahead=value,
        slope=slope,
        bound=bound,
        step=step,
        momentum=np.ones_like(step),
    )


def _risen(operators: ChannelLaw, climb: _Climb) -> _Climb:
    """Return the state of the climbs after one more round."""
    shares, law, value, step = _moved(operators, climb)
    way = shares - climb.best
    is_too_far = (climb.momentum > 1) & (_product(climb.slope, way) < 0)  # if so, restart at `best` without momentum
    momentum = (1 + np.sqrt(1 + 4 * climb.momentum**2)) / 2
    weight = (climb.momentum - 1) / momentum
    law_ahead = law + weight * (law - climb.law)
    is_beyond = law_ahead.min(axis=-1, keepdims=True) <= 0  # beyond the simplex, probabilities are below 0
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


def _moved(operators: ChannelLaw, climb: _Climb) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the shares after a step, the symbols' distribution, the log-likelihood, the step.

    The step is halved until the log-likelihood is at least the value of a parabola with curvature 1
    / step. For a short enough step, the log-likelihood is always above this parabola.
    """
    shares, law, value = np.empty_like(climb.best), np.empty_like(climb.law), np.empty_like(climb.value)
    step, left = climb.step.copy(), np.arange(len(climb.step))
    while left.size:
        start = climb.selected(left)
        shares[left] = nearest_shares(start.ahead + step[left] * start.slope)
        law[left] = _law(operators, shares[left])
        value[left] = _product(start.frequencies, np.log(law[left]))
        way = shares[left] - start.ahead
        rise = _product(start.slope, way) - _product(way, way) / (2 * step[left])
        left = left[(value[left] < start.value_ahead + rise - ROUNDING)[:, 0]]
        step[left] /= 2
    return shares, law, value, step


def _seen(operators: ChannelLaw, frequencies: Floats, law: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a distribution's mean log-likelihood and gradient, and an upper bound for all."""
    value = _product(frequencies, np.log(law))
    slope = operators.expectations(frequencies / law)
    return value, slope, value + slope.max(axis=-1, keepdims=True) - 1


def _law(operators: ChannelLaw, shares: Floats) -> Floats:
    """Return the symbols' distribution, with probabilities above 0 so that logarithms exist."""
    law: Floats = np.maximum(operators.symbol_law(shares), np.finfo(float).tiny)
    return law


def _product(rows: Floats, other_rows: Floats) -> Floats:
    """Return the scalar product of each pair of rows."""
    product: Floats = (rows * other_rows).sum(axis=-1, keepdims=True)
    return product


WRITTEN_OUT = 2**17
"""The maximum number of probabilities in a table (1 MB). Channels with more use transforms, which
are then faster.
"""

REMEMBERED = 16
"""The number of tables of distributions cached for further windows of the same metrics."""


def maximum_likelihood(inverse: Inverse, counts: Counts) -> Floats:
    """Return the most likely shares, shape (..., k).

    Args:
        inverse: the inverse of the channel.
        counts: the count of each symbol, shape (..., m). Each tally has at least one count above 0.

    """
    if isinstance(inverse, Support):
        return _filled(inverse, counts)
    if isinstance(inverse, OneOfShares):  # each share separately, because these shares need not add up to 1
        return np.clip(inverse.shares(counts, 1), 0.0, 1.0)
    nearest = nearest_shares(inverse.shares(counts, counts.sum(axis=-1, keepdims=True)))
    if isinstance(inverse, PairShares):  # shares do not determine the law, so no shares are likeliest
        return nearest
    law: ChannelLaw = inverse
    if counts.shape[-1] * nearest.shape[-1] <= WRITTEN_OUT:
        law = _written_out(inverse, nearest.shape[-1])
    return climbed(law, counts, nearest)


@lru_cache(maxsize=REMEMBERED)
def _written_out(inverse: Inverse, inputs: int) -> ChannelLaw:
    """Return a channel as a table of probabilities, cached for later rounds and windows."""
    return TableLaw(inverse.symbol_law(np.eye(inputs)))


def _filled(support: Support, counts: Counts) -> Floats:
    falling = np.sort(counts)[..., ::-1].astype(np.float64)
    sizes = np.arange(1, counts.shape[-1] + 1)
    totals = np.cumsum(falling, axis=-1)
    gap, other = float(support.own - support.other), float(support.other)
    per_count = (gap + sizes * other) / totals
    positive = np.count_nonzero(falling * per_count > other, axis=-1, keepdims=True)
    shares: Floats = np.maximum(0.0, (counts * np.take_along_axis(per_count, positive - 1, axis=-1) - other) / gap)
    return shares
