"""Maximum likelihood on the simplex: the shares, adding up to 1, that make a tally likeliest.

They are biased at the edges of the simplex (near 0 and 1), so they are reported next to the
unbiased estimates, with a label.

If every symbol supports one value, the solution is exact: by the conditions of Karush, Kuhn and
Tucker, the share of a value above a common level is linear in its count and the others are 0, as in
water-filling (Boyd & Vandenberghe 2004, "Convex optimization", example 5.2). Otherwise it is found
by a climb that starts at the point of the simplex nearest to the unbiased estimate.

The climb runs for many tallies at once, and needs only a channel's operators. The method is
accelerated projected gradients (Beck & Teboulle 2009, "A fast iterative shrinkage-thresholding
algorithm for linear inverse problems", section 4, with backtracking; restarts as in O'Donoghue &
Candes 2015, section 3.2). Expectation maximization would need about 1 / (p - q)**2 rounds, even if
accelerated: near a uniform law of symbols the curvature is almost the same in all directions, where
gradients are fast and expectation maximization is slow.

It stops when no shares could raise the log-likelihood by more than k * `SLACK`. This can be decided
without the maximum: the log-likelihood is concave, so from some shares to any others it rises by at
most n * (max over v of the expectation of frequency / law of the symbol given v, minus 1) (Lindsay
1983, "The geometry of mixture likelihoods", theorem 4.1).

Arrays have one row for each tally; single numbers of each tally have shape (tallies, 1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.decoders.decoder import ChannelLaw, Inverse, TableLaw
from estimator.decoders.one_of import OneOfShares
from estimator.decoders.support import Support
from estimator.statistics.arrays import Counts, Floats, nearest_shares

SLACK = 0.001
"""Slack of the log-likelihood for each of the k shares: on average 4% of a standard error each."""

ROUNDING = 2.0**-42
"""A fraction of n, used if k * `SLACK` is less: mean logarithms of 64-bit sums of transforms are no
more exact.
"""

MAX_ROUNDS = 1000
"""Some dozens are usual. A tally that is unlikely in every population may need more; it then gets
the best shares so far.
"""

GROWTH = 1.1
"""Growth of the step in a successful round: curvature may be smaller than at the climb's start."""


class _Climb(NamedTuple):
    """The state of each tally's climb.

    Attributes:
        frequencies: the frequencies of its symbols, which add up to 1.
        slack: the climb ends when the mean log-likelihood of a report is this close to its bound.
        best: the likeliest shares so far.
        law: the law of the symbols under them.
        value: their mean log-likelihood.
        ahead: shares from which the next step starts, perhaps beyond the best; they add up to 1.
        value_ahead: their mean log-likelihood.
        slope: its gradient.
        bound: an upper bound of the mean log-likelihood on the whole simplex.
        step: the step length to try next along the slope.
        momentum: how far beyond the best the next step starts, in the units of Beck & Teboulle.

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
        """Return the climbs of selected tallies."""
        return _Climb(*(part[rows] for part in self))


def climbed(operators: ChannelLaw, counts: Counts, start: Floats) -> Floats:
    """Return the likeliest shares, shape (..., k).

    Args:
        operators: the channel's law.
        counts: the count of each symbol, shape (..., m), at least one above 0 in each tally.
        start: shares on the simplex, shape (..., k).

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
        reports: the number in the tally, or in each of several.

    """
    allowed: Floats = np.maximum(SLACK * inputs, ROUNDING * reports)
    return allowed


def _begun(operators: ChannelLaw, counts: Counts, start: Floats) -> _Climb:
    reports = counts.sum(axis=-1, keepdims=True)
    frequencies, law = counts / reports, _law(operators, start)
    value, slope, bound = _seen(operators, frequencies, law)
    direction = slope - slope.mean(axis=-1, keepdims=True)
    curvature = _product(frequencies, (operators.symbol_law(direction) / law) ** 2)  # along the slope
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
    """Return the climbs after one more round."""
    shares, law, value, step = _moved(operators, climb)
    way = shares - climb.best
    is_too_far = (climb.momentum > 1) & (_product(climb.slope, way) < 0)  # then restart from the best, without momentum
    momentum = (1 + np.sqrt(1 + 4 * climb.momentum**2)) / 2
    weight = (climb.momentum - 1) / momentum
    law_ahead = law + weight * (law - climb.law)
    is_beyond = law_ahead.min(axis=-1, keepdims=True) <= 0  # not a law, because the shares are beyond the simplex
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
    """Return shares up the slope, their law, mean log-likelihood and step.

    The step is halved until the log-likelihood is at least that of a parabola with curvature 1 /
    step, which lies below the log-likelihood once the step is short enough.
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
    """Return a law's mean log-likelihood, its gradient, and its upper bound over all laws."""
    value = _product(frequencies, np.log(law))
    slope = operators.expectations(frequencies / law)
    return value, slope, value + slope.max(axis=-1, keepdims=True) - 1


def _law(operators: ChannelLaw, shares: Floats) -> Floats:
    """Return the law of some shares, above 0 for every symbol so that logarithms exist."""
    law: Floats = np.maximum(operators.symbol_law(shares), np.finfo(float).tiny)
    return law


def _product(rows: Floats, other_rows: Floats) -> Floats:
    """Return the scalar product of each pair of rows."""
    product: Floats = (rows * other_rows).sum(axis=-1, keepdims=True)
    return product


WRITTEN_OUT = 2**17
"""The maximum number of probabilities for which a law is kept as a table, 1 MB: up to this size a
table is faster than transforms.
"""

REMEMBERED = 16
"""Tables of laws kept for the next window of the same metric."""


def maximum_likelihood(inverse: Inverse, counts: Counts) -> Floats:
    """Return the likeliest shares, shape (..., k).

    Args:
        inverse: the inverse of the channel.
        counts: the count of each symbol, shape (..., m), at least one above 0 in each tally.

    """
    if isinstance(inverse, Support):
        return _filled(inverse, counts)
    if isinstance(inverse, OneOfShares):  # each share separately, because they need not add up to one
        return np.clip(inverse.shares(counts, 1), 0.0, 1.0)
    nearest = nearest_shares(inverse.shares(counts, counts.sum(axis=-1, keepdims=True)))
    law: ChannelLaw = inverse
    if counts.shape[-1] * nearest.shape[-1] <= WRITTEN_OUT:
        law = _written_out(inverse, nearest.shape[-1])
    return climbed(law, counts, nearest)


@lru_cache(maxsize=REMEMBERED)
def _written_out(inverse: Inverse, inputs: int) -> ChannelLaw:
    """Return a law as a table. A climb uses it in each round, and a job climbs for each window."""
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
