"""Maximum-likelihood shares: the shares that make a tally most likely.

Valid shares are at least 0 and add up to 1. The set of valid shares is the simplex.
Maximum-likelihood shares near 0 or 1 are biased. The estimator therefore gives an unbiased estimate
of each share as well.

**Exact solution.** A symbol *supports* a value if the symbol is more likely for this value than for
most others. If every symbol supports only one value, the solution has a closed form. By the
Karush-Kuhn-Tucker conditions, a share is a linear function of its symbol's count, or 0 if this
count is below a threshold (Boyd & Vandenberghe 2004, "Convex optimization", example 5.2,
water-filling).

**Climb.** For other channels, an iterative search finds the solution. The code calls this search a
climb. A climb starts at the valid shares nearest to the unbiased estimates. The method is
accelerated projected gradients:

* Beck & Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm for linear inverse
  problems", section 4, with backtracking.
* O'Donoghue & Candes 2015, section 3.2, for restarts.

If all symbols are about equally likely, the log-likelihood has almost the same curvature in all
directions, so gradient methods are fast. Expectation maximization would need about 1 / (p - q)**2
rounds, even if accelerated. Here, p is the probability that a report supports the true value. The
probability that the report supports any other given value is q.

**End of a climb.** The climb of k shares ends when the log-likelihood is within k * `SLACK` of its
maximum. An upper bound on the maximum shows when this is the case (Lindsay 1983, "The geometry of
mixture likelihoods", theorem 4.1). The ratio of a symbol is its frequency in the tally divided by
its probability under the current shares. Each value has an expected ratio, namely the mean ratio of
the symbols that devices with this value send. Let r be the largest expected ratio of all values,
and n the number of reports. The log-likelihood is concave, so the maximum exceeds the current
log-likelihood by at most n * (r - 1).

Arrays have one row per tally. A single number per tally has shape (tallies, 1).
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
"""The search for k shares may end if the log-likelihood is at most k times this number below its
maximum. The resulting error of a share is about 4% of its standard error.
"""

ROUNDING = 2.0**-42
"""A bound on the rounding error of a log-likelihood per report, in 64-bit floats. For n reports,
the search may end if the log-likelihood is at most n times this number below its maximum, even if
`SLACK` requires a higher precision.
"""

MAX_ROUNDS = 1000
"""The maximum number of rounds of the search. A few dozen rounds are usual.

The search may reach this limit if the tally is unlikely in every population. The result is then the
most likely shares found so far.
"""

GROWTH = 1.1
"""The factor by which the step grows after each successful round, in case the curvature has
decreased.
"""


class _Climb(NamedTuple):
    """The state of the search for each tally's most likely shares, with one row per tally.

    All log-likelihoods are per report.

    Attributes:
        slack: the search ends once ``bound`` exceeds ``value`` by at most this number.
        best: the most likely shares so far.
        law: the probabilities of the symbols under ``best``.
        value: the log-likelihood of ``best``.
        ahead: the shares that the next step starts from, with sum 1. The shares extend the last
            step beyond ``best``, so some may be negative.
        value_ahead: the log-likelihood of ``ahead``.
        slope: the gradient of the log-likelihood at ``ahead``.
        bound: an upper bound on the log-likelihood of all shares.
        step: the length of the next step along the slope.
        momentum: the number t in Beck & Teboulle. This number determines the distance of ``ahead``
            from ``best``.

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
        """Return the state of the tallies that ``rows`` selects."""
        return _Climb(*(part[rows] for part in self))


def climbed(operators: ChannelLaw, counts: Counts, start: Floats) -> Floats:
    """Return the most likely shares, shape (..., k), found by accelerated projected gradients.

    ``counts`` has shape (..., m), and each tally has at least one report. The search begins at the
    valid shares ``start``, shape (..., k).
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
    """Return how far below its maximum the log-likelihood may be when the search ends.

    ``inputs`` is the number of shares. ``reports`` is the number of reports in each tally.
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
    """Return the state of all tallies after one more round of the search."""
    shares, law, value, step = _moved(operators, climb)
    way = shares - climb.best
    is_too_far = (climb.momentum > 1) & (_product(climb.slope, way) < 0)  # if so, restart at `best` without momentum
    momentum = (1 + np.sqrt(1 + 4 * climb.momentum**2)) / 2
    weight = (climb.momentum - 1) / momentum
    law_ahead = law + weight * (law - climb.law)
    is_beyond = law_ahead.min(axis=-1, keepdims=True) <= 0  # beyond the simplex, probabilities may be 0 or less
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
    """Return the shares after a step, the symbols' probabilities, the log-likelihood, and the step.

    The log-likelihood is per report. The step is halved until the log-likelihood after the step is
    at least the value of a parabola. The parabola has the slope of the log-likelihood at the start
    of the step and the curvature -1 / step. A short enough step always meets this condition.
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
    """Return the log-likelihood per report, its gradient, and an upper bound for all shares.

    ``law`` contains the probabilities of the symbols under the current shares.
    """
    value = _product(frequencies, np.log(law))
    slope = operators.expectations(frequencies / law)
    return value, slope, value + slope.max(axis=-1, keepdims=True) - 1


def _law(operators: ChannelLaw, shares: Floats) -> Floats:
    """Return the probabilities of the symbols, raised above 0 so that their logarithms exist."""
    law: Floats = np.maximum(operators.symbol_law(shares), np.finfo(float).tiny)
    return law


def _product(rows: Floats, other_rows: Floats) -> Floats:
    product: Floats = (rows * other_rows).sum(axis=-1, keepdims=True)
    return product


WRITTEN_OUT = 2**17
"""The maximum number of probabilities (inputs times symbols) in a table. A table of this size takes
1 MB. With more probabilities, the transforms of the channel's inverse are faster than a table.
"""

REMEMBERED = 16
"""The maximum number of tables in the cache. All windows of a metric use the same table."""


def maximum_likelihood(inverse: Inverse, counts: Counts) -> Floats:
    """Return the most likely shares, shape (..., k).

    ``counts`` contains the count of each symbol, shape (..., m), with at least one report per
    tally.
    """
    if isinstance(inverse, Support):
        return _filled(inverse, counts)
    if isinstance(inverse, OneOfShares):  # each share separately, because these shares need not add up to 1
        return np.clip(inverse.shares(counts, 1), 0.0, 1.0)
    nearest = nearest_shares(inverse.shares(counts, counts.sum(axis=-1, keepdims=True)))
    if isinstance(inverse, PairShares):  # shares do not determine the law of blocks, so no shares are likeliest
        return nearest
    law: ChannelLaw = inverse
    if counts.shape[-1] * nearest.shape[-1] <= WRITTEN_OUT:
        law = _written_out(inverse, nearest.shape[-1])
    return climbed(law, counts, nearest)


@lru_cache(maxsize=REMEMBERED)
def _written_out(inverse: Inverse, inputs: int) -> ChannelLaw:
    """Return a channel's distribution as a table, cached for other rounds and windows."""
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
