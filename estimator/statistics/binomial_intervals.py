"""Confidence intervals for the probability of a binomial count, from the count alone.

* Fewer than 50 reports: Clopper & Pearson 1934. The coverage is at least the confidence at every
  truth.
* From 50 on: Wilson's score interval (Wilson 1927), whose coverage is the confidence on average
  (for epsilon from .5 on; below that it holds few of the possible counts, and the average varies by
  one percent). If few reports are expected its coverage falls to 84 % for 95 % (Brown, Cai &
  DasGupta 2001, "Interval estimation for a binomial proportion", section 4.1.1, who move three
  bounds out). Here a bound of few counts is moved out just until the truths beyond it, too, are
  covered with at least 93.1 % for 95 %. Exact sums of the binomial law show that no other bound
  needs it.

Simultaneous intervals are those of Clopper & Pearson at Bonferroni's confidence, which is safe for
any dependence between the counts. In these far tails Wilson's normal approximation is wrong by
factors.

Every bound is monotone in the count and mirrored: the upper bound of a count is one minus the lower
bound of the rest.

Score intervals of Wilson's kind serve bounded variables, too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Floats, Reports
from estimator.statistics.confidence import BISECTIONS, EXACT_BELOW, FEW, TAIL, Z, tail_of, z_of
from estimator.statistics.laws import binomial_chance

WORST_COVERAGE = 0.931
"""The coverage at the worst truth; just above the promised 93 %."""

_Number = TypeVar("_Number", float, Floats)


def binomial_intervals(counts: NDArray[np.int64], reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of the intervals of many counts.

    Args:
        counts: each from 0 to ``reports``, shape (..., k).
        reports: n; without reports every interval is 0..1.
        family: the number of intervals that are to hold together; with 1 see `binomial_interval`.

    """
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    trials = np.broadcast_to(reports, counts.shape)
    if family > 1:
        for row in np.ndindex(counts.shape[:-1]):
            low[row], high[row] = _simultaneous(counts[row], int(trials[row][0]), tail_of(family))
        return low, high
    plain = (counts > FEW) & (counts < trials - FEW) & (trials >= EXACT_BELOW)
    many, of = counts[plain].astype(np.float64), trials[plain].astype(np.float64)
    low[plain], high[plain] = _wilson_lower(many, of), 1 - _wilson_lower(of - many, of)
    few = [binomial_interval(*pair) for pair in zip(counts[~plain].tolist(), trials[~plain].tolist(), strict=True)]
    if few:
        low[~plain], high[~plain] = zip(*few, strict=True)
    return low, high


@lru_cache(maxsize=2**16)
def binomial_interval(count: int, reports: int) -> tuple[float, float]:
    """Return the interval within 0..1 for the probability of a binomial count.

    Results are cached, because many values of a tally share a count.

    Args:
        count: from 0 to ``reports``.
        reports: n; without reports the interval is 0..1.

    """
    if reports == 0:
        return 0.0, 1.0
    lower = _lower(count, reports)
    return lower, max(lower, 1 - _lower(reports - count, reports))


def _simultaneous(counts: NDArray[np.int64], reports: int, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of Clopper & Pearson, each missed with at most one tail's probability."""
    if reports == 0:
        return np.zeros(counts.size), np.ones(counts.size)
    distinct, where = np.unique(counts, return_inverse=True)
    low = binomial_chance(distinct, reports, tail)
    high = 1 - binomial_chance(reports - distinct[::-1], reports, tail)[::-1]
    return low[where], np.maximum(low, high)[where]


def _lower(count: int, reports: int) -> float:
    if count == 0:
        return 0.0
    if reports < EXACT_BELOW:
        return _clopper_pearson_lower(count, reports)
    lower = _wilson_lower(count, reports)
    return _moved_out(lower, count, reports) if count <= FEW else lower


def _clopper_pearson_lower(count: int, reports: int) -> float:
    """Return the probability at which a smaller count has the probability `TAIL`, by exact sums."""
    if count == 0:
        return 0.0
    below, above = 0.0, count / reports
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        if at_most(count - 1, reports, middle) >= TAIL:
            below = middle
        else:
            above = middle
    return below


def _wilson_lower(count: _Number, reports: _Number | int) -> _Number:
    frequency = count / reports
    centre = frequency + Z * Z / (2 * reports)
    half_width = Z * (frequency * (1 - frequency) / reports + (Z / (2 * reports)) ** 2) ** 0.5
    lower: _Number = (centre - half_width) / (1 + Z * Z / reports)
    return lower


def _moved_out(lower: float, count: int, reports: int) -> float:
    """Return a lower bound moved down until smaller counts cover truths below it often enough.

    Which counts cover that truth follows from the score test, which is symmetric about the expected
    count: those nearer to it than ``count``.
    """
    least_covering = max(0, math.ceil(2 * reports * lower - count))

    def covered(truth: float) -> bool:
        return at_most(count - 1, reports, truth) - at_most(least_covering - 1, reports, truth) >= WORST_COVERAGE

    outside, inside = lower, lower
    while not covered(outside):
        inside, outside = outside, outside * 0.99  # small enough not to skip covered truths
    for _ in range(BISECTIONS if outside < inside else 0):
        middle = (outside + inside) / 2
        if covered(middle):
            outside = middle
        else:
            inside = middle
    return outside


def at_most(count: int, reports: int, probability: float) -> float:
    """Return the probability of at most ``count`` successes, by its exact sum of count + 1 terms.

    Args:
        count: small, or -1 for the impossible.
        reports: n.
        probability: of one success, below 1.

    """
    odds = probability / (1 - probability)
    term = math.exp(reports * math.log1p(-probability)) if count >= 0 else 0.0
    terms = [term]
    for successes in range(count):
        term *= (reports - successes) / (successes + 1) * odds
        terms.append(term)
    return math.fsum(terms)


def score_intervals(
    shares: Floats, own: Floats | float, other: Floats | float, reports: Reports, family: int = 1
) -> tuple[Floats, Floats]:
    """Return the shares that a score test does not reject, not clipped.

    A report's score for a share has the mean square ``own`` for its sender's answer, and at most
    ``other`` for other values. The variance is therefore at most quadratic in the share, and
    (estimate - share)**2 = z**2 * variance / n is a quadratic equation.
    """
    return _solved(shares, own, other, z_of(family) ** 2 / reports)


def _solved(shares: Floats, own: Floats | float, other: Floats | float, scale: Floats | float) -> tuple[Floats, Floats]:
    """Return the shares with (estimate - share)**2 = ``scale`` * the variance of one report."""
    centre = shares + scale * (own - other) / 2
    half_width = np.sqrt(np.maximum(0.0, centre**2 - (1 + scale) * (shares**2 - scale * other)))
    return (centre - half_width) / (1 + scale), (centre + half_width) / (1 + scale)


def bounded_intervals(  # noqa: PLR0913, PLR0917 as score_intervals, and the span
    shares: Floats, own: Floats | float, other: Floats | float, span: Floats | float, reports: Reports, family: int = 1
) -> tuple[Floats, Floats]:
    """Return intervals that hold at every truth, whatever the law of a report's score, not clipped.

    They hold the shares for which the estimate deviates no farther than two bounds allow:
    Hoeffding's by the span, and Bernstein's by the variance, which is as in `score_intervals`
    (Boucheron, Lugosi & Massart 2013, "Concentration inequalities", theorem 2.8 and corollary
    2.11). With L the logarithm of the tail's inverse, n t**2 / 2 (variance + span t / 3) is at
    least L for t = sqrt(2 L variance / n) + 2 span L / (3 n).
    """
    scale = -2 * math.log(tail_of(family)) / reports
    shift, reach = span * scale / 3, hoeffding_half_width(span, reports, family)
    lower, upper = shares - shift, shares + shift  # nearer shares are held whatever their variance
    low = np.maximum(np.minimum(_solved(lower, own, other, scale)[0], lower), shares - reach)
    high = np.minimum(np.maximum(_solved(upper, own, other, scale)[1], upper), shares + reach)
    return low, np.maximum(low, high)


def hoeffding_half_width(span: Floats | float, reports: Reports, family: int = 1) -> Floats | float:
    """Return the largest deviation of a mean of bounded scores (Hoeffding 1963, theorem 2)."""
    half_width: Floats | float = span * np.sqrt(-math.log(tail_of(family)) / (2 * reports))
    return half_width
