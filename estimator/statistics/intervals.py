"""Confidence intervals for binomial success probabilities, and for means of bounded numbers.

**A binomial count** is, for example, the number of "yes" reports. The interval depends only on the
count and on the number of reports:

* With fewer than 50 reports, the interval is that of Clopper & Pearson 1934. The coverage is at
  least the nominal confidence for every true value.
* With 50 or more reports, the interval is Wilson's score interval (Wilson 1927). If epsilon is at
  least .5, the coverage, averaged over true values, equals the nominal confidence. Below .5, this
  average varies by one percent, because an interval contains few possible counts.
* If the expected count is small, Wilson's 95% interval covers some true values with a probability
  of only 84% (Brown, Cai & DasGupta 2001, "Interval estimation for a binomial proportion", section
  4.1.1). The intervals of counts up to `FEW` are therefore widened until the coverage is at least
  93.1% for every true value. Exact sums of the binomial distribution show that counts above `FEW`
  need no widening.

Simultaneous intervals are those of Clopper & Pearson with Bonferroni's correction. The correction
is valid for any dependence between the counts. At the small error probabilities of simultaneous
intervals, Wilson's normal approximation would be wrong by large factors.

The ends of an interval rise with the count. The upper end for a count is 1 minus the lower end for
the number of all other reports.

**The mean of bounded numbers**, such as the scores of reports, has two kinds of intervals.
`score_intervals` returns a generalization of Wilson's interval. `betting_intervals` returns
intervals that are valid for every distribution of the numbers (Waudby-Smith & Ramdas 2024,
"Estimating means of bounded random variables by betting", section 4.4). The idea of betting
intervals:

* A gambler starts with a wealth of 1, claims that the mean is larger than m, and bets a stake on
  each number. The gambler's wealth grows if the number is above m, and shrinks if the number is
  below m.
* If the mean is m or less, the expected average wealth of several gamblers is at most 1. By
  Markov's inequality, the average wealth reaches 1 / a with a probability of at most a.
* Let a be the error probability of one end. The interval consists of all m at which the average
  wealth stays below 1 / a.
* Gamblers who claim that the mean is smaller than m give the other end.

Stakes are fixed before the first number, so the order of the numbers does not matter. The method
needs no bound on the variance of the numbers. A betting interval is half as wide as the interval
from Bernstein's inequality.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.confidence import EXACT_BELOW, FEW, TAIL, Z, binomial_chance, bisected, tail_of, z_of

GAMBLERS: Final = 5
"""The number of gamblers in `betting_intervals`. Each gambler uses the stake that gives
approximately the narrowest interval for a different variance of the numbers. With 20 to 10,000
numbers, more gamblers narrowed no measured interval by 2% or more.
"""

POWERS: Final = -np.linspace(0, 0.5, GAMBLERS)
"""The powers that define the gamblers' stakes, from 0 to -0.5. Each power gives the stake for n
numbers with a standard deviation of n**power times half the span. The span is the distance between
the smallest and the largest possible number.
"""

MOST_STAKED: Final = 0.999
"""The maximum stake, as a fraction of the wealth. A gambler who stakes everything may lose
everything.
"""

HALVINGS: Final = 24
"""The number of bisection steps that find an end of a betting interval. The end is rounded outward
by at most one part in 10**7 of the range.
"""


def betting_intervals(values: Floats, counts: Counts, family: int = 1) -> Floats:
    """Return the betting interval of each distribution's mean, shape (draws, 2).

    ``values`` contains all possible numbers, shape (m,). ``counts`` is how often each number was
    drawn, shape (draws, m), with at least one number per row. Each of the ``draws`` rows is a
    sample from a separate distribution. The 95% confidence applies to ``family`` intervals
    together.
    """
    most_seen = int(np.count_nonzero(counts, axis=1).max(initial=0))
    seen = np.argsort(counts == 0, axis=1, kind="stable")[:, :most_seen]
    drawn, often, ends = values[seen], np.take_along_axis(counts, seen, axis=1), (values.min(), values.max())
    span, bar = float(ends[1] - ends[0]), -math.log(tail_of(family))
    distances = np.concatenate([np.abs(drawn - end) for end in ends])
    low, high = np.split(_least_means(distances, np.tile(often, (2, 1)), span, bar), 2)
    return np.column_stack([ends[0] + low, ends[1] - high])


def betting_ratios(numerators: Floats, denominators: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """Return betting intervals for ratios of two means. All ends are within 0..1.

    The low ends and the high ends each have shape (ratios,). ``numerators`` and ``denominators``
    contain all possible values, shape (ratios, m). ``counts`` is how often each value was drawn,
    shape (m,). The ratio is r if the mean of (numerator - r * denominator) is 0, so the gamblers
    bet on this mean. The denominators must have positive means.
    """
    middle = np.clip((numerators @ counts) / (denominators @ counts), 0.0, 1.0)
    numerators, denominators = (np.concatenate([scores, -scores]) for scores in (numerators, denominators))
    outside = np.concatenate([np.zeros_like(middle), np.ones_like(middle)])
    drawn = np.broadcast_to(counts, numerators.shape)
    low, high = np.split(_farthest(numerators, denominators, drawn, outside, np.tile(middle, 2)), 2)
    return low, high


def _farthest(numerators: Floats, denominators: Floats, counts: Counts, outside: Floats, inside: Floats) -> Floats:
    """Return the ratios that bets do not rule out and that are nearest to ``outside``."""
    bar = -math.log(tail_of(1))
    for _ in range(HALVINGS):
        ratios = (outside + inside) / 2
        numbers = numerators - ratios[:, np.newaxis] * denominators
        least = numbers.min(axis=1)
        stakes = _stakes(counts.sum(axis=1, keepdims=True), np.ptp(numbers, axis=1)[:, np.newaxis], bar)
        is_ruled_out = _wealth(numbers - least[:, np.newaxis], counts, -least, stakes) >= bar
        outside, inside = np.where(is_ruled_out, ratios, outside), np.where(is_ruled_out, inside, ratios)
    return outside


def _least_means(values: Floats, counts: Counts, span: float, bar: float) -> Floats:
    """Return lower ends of betting intervals for means of numbers from 0 to ``span``.

    The bets rule out a mean if the logarithm of the average wealth is at least ``bar``.
    """
    numbers = counts.sum(axis=1, keepdims=True)
    stakes = _stakes(numbers, span, bar)
    high = (values * counts).sum(axis=1) / numbers[:, 0]
    low = np.zeros(high.size)
    for _ in range(HALVINGS):
        means = (low + high) / 2
        wealth = _wealth(values, counts, np.maximum(means, np.finfo(float).tiny), stakes)
        is_ruled_out = wealth >= bar
        low, high = np.where(is_ruled_out, means, low), np.where(is_ruled_out, high, means)
    return low


def _stakes(numbers: Counts, span: Floats | float, bar: float) -> Floats:
    """Return the gamblers' stakes, as fractions of wealth per unit of a number.

    The result has shape (draws, gamblers), with a row for each sample. A mean is ruled out if the
    logarithm of the average wealth is at least ``bar``. For n numbers with the standard deviation
    s, the stake sqrt(2 bar / n) / s gives approximately the narrowest interval. The gamblers assume
    values of s from half the span down to about span / sqrt(n). The smallest s occurs if one number
    lies at one end of the range, and all others at the other end.
    """
    deviations = span / 2 * numbers**POWERS
    stakes: Floats = np.sqrt(2 * bar / numbers) / deviations
    return stakes


def _wealth(values: Floats, counts: Counts, means: Floats, stakes: Floats) -> Floats:
    """Return the logarithm of the gamblers' average wealth after all bets, shape (draws,).

    The gamblers claim that the true means are larger than ``means``.
    """
    staked = np.minimum(stakes, MOST_STAKED / means[:, np.newaxis])
    gains = values - means[:, np.newaxis]
    factors = np.log1p(staked[:, :, np.newaxis] * gains[:, np.newaxis, :])
    logarithms = (factors @ counts[:, :, np.newaxis])[:, :, 0]
    largest = logarithms.max(axis=1)
    wealth: Floats = largest + np.log(np.exp(logarithms - largest[:, np.newaxis]).mean(axis=1))
    return wealth


WORST_COVERAGE = 0.931
"""The minimum coverage of an interval for any true value, slightly above the documented minimum of
93%.
"""

_Number = TypeVar("_Number", float, Floats)


def binomial_intervals(counts: NDArray[np.int64], reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
    """Return the ends of the intervals for the success probabilities of many binomial counts.

    The lower ends come first, then the upper ends.

    ``counts`` are from 0 to ``reports``, shape (..., k). If there are no reports, every interval is
    0..1. The 95% confidence applies to ``family`` intervals together. If ``family`` is 1, each
    interval is the result of `binomial_interval`.
    """
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    trials = np.broadcast_to(reports, counts.shape)
    if family > 1:
        for row in np.ndindex(counts.shape[:-1]):
            low[row], high[row] = _simultaneous(counts[row], int(trials[row][0]), tail_of(family))
        return low, high
    plain = (counts > FEW) & (counts < trials - FEW) & (trials >= EXACT_BELOW)
    many, total = counts[plain].astype(np.float64), trials[plain].astype(np.float64)
    low[plain], high[plain] = _wilson_lower(many, total), 1 - _wilson_lower(total - many, total)
    few = [binomial_interval(*pair) for pair in zip(counts[~plain].tolist(), trials[~plain].tolist(), strict=True)]
    if few:
        low[~plain], high[~plain] = zip(*few, strict=True)
    return low, high


@lru_cache(maxsize=2**16)
def binomial_interval(count: int, reports: int) -> tuple[float, float]:
    """Return the interval for the success probability of one binomial count, within 0..1.

    If ``reports`` is 0, the interval is 0..1. Results are cached, because many values of a tally
    have the same count.
    """
    if reports == 0:
        return 0.0, 1.0
    lower = _lower(count, reports)
    return lower, max(lower, 1 - _lower(reports - count, reports))


def _simultaneous(counts: NDArray[np.int64], reports: int, tail: float) -> tuple[Floats, Floats]:
    """Return Clopper & Pearson's intervals.

    Each end is wrong with a probability of at most ``tail``.
    """
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
    """Return Clopper & Pearson's lower end for a small count, computed from exact sums."""
    if count == 0:
        return 0.0
    return bisected(lambda truth: at_most(count - 1, reports, truth) >= TAIL, count / reports, 0.0)


def _wilson_lower(count: _Number, reports: _Number | int) -> _Number:
    frequency = count / reports
    center = frequency + Z * Z / (2 * reports)
    half_width = Z * (frequency * (1 - frequency) / reports + (Z / (2 * reports)) ** 2) ** 0.5
    lower: _Number = (center - half_width) / (1 + Z * Z / reports)
    return lower


def _moved_out(lower: float, count: int, reports: int) -> float:
    """Lower the lower end of a count's interval until values just below it have enough coverage.

    Coverage is the probability that the interval of the observed count contains the true value.
    Wilson's test is symmetric about the expected count. A true value just below the lower end is
    therefore covered by the intervals of all counts that are nearer to the expected count than
    ``count``.
    """
    least_covering = max(0, math.ceil(2 * reports * lower - count))

    def covered(truth: float) -> bool:
        return at_most(count - 1, reports, truth) - at_most(least_covering - 1, reports, truth) >= WORST_COVERAGE

    outside, inside = lower, lower
    while not covered(outside):
        inside, outside = outside, outside * 0.99  # a small step, so that no covered value is skipped
    return bisected(covered, inside, outside) if outside < inside else outside


def at_most(count: int, reports: int, probability: float) -> float:
    """Return the probability of at most ``count`` successes, as the sum of count + 1 terms.

    ``count`` is small, or -1 for the impossible event. ``probability`` is the success probability
    of one trial, below 1.
    """
    odds = probability / (1 - probability)
    term = math.exp(reports * math.log1p(-probability)) if count >= 0 else 0.0
    terms = [term]
    for successes in range(count):
        term *= (reports - successes) / (successes + 1) * odds
        terms.append(term)
    return math.fsum(terms)


def score_intervals(
    shares: Floats, own: Floats | float, other: Floats | float, reports: Reports, family: float = 1
) -> tuple[Floats, Floats]:
    """Return intervals of the shares that a score test accepts.

    The intervals may extend beyond 0..1.

    The mean score of all reports estimates the share of one value. The variance of a report's score
    is at most own * share + other * (1 - share) - share**2. The ends of the interval solve the
    quadratic equation (estimate - share)**2 = z**2 * variance / n.

    Args:
        shares: the estimated shares.
        own: the mean squared score of a report from a device whose answer is the value.
        other: the largest mean squared score of a report from a device whose answer is a different
            value.
        reports: n, the number of reports.
        family: the number of intervals with a joint confidence of 95%.

    """
    return _solved(shares, own, other, z_of(family) ** 2 / reports)


def _solved(shares: Floats, own: Floats | float, other: Floats | float, scale: Floats | float) -> tuple[Floats, Floats]:
    """Return both solutions x of the equation (share - x)**2 = ``scale`` * v(x).

    Here, v(x) = own * x + other * (1 - x) - x**2 bounds the variance of a report's score.
    """
    center = shares + scale * (own - other) / 2
    half_width = np.sqrt(np.maximum(0.0, center**2 - (1 + scale) * (shares**2 - scale * other)))
    return (center - half_width) / (1 + scale), (center + half_width) / (1 + scale)


def bounded_intervals(  # noqa: PLR0913, PLR0917 like score_intervals, with the span
    shares: Floats,
    own: Floats | float,
    other: Floats | float,
    span: Floats | float,
    reports: Reports,
    family: float = 1,
) -> tuple[Floats, Floats]:
    """Return intervals that are valid for every distribution of a report's score.

    The intervals may extend beyond 0..1.

    The interval contains all shares that neither Hoeffding's nor Bernstein's bound excludes.
    Hoeffding's bound uses ``span``, the largest score minus the smallest score. Bernstein's bound
    also uses the variance (Boucheron, Lugosi & Massart 2013, "Concentration inequalities", theorem
    2.8 and corollary 2.11). `score_intervals` explains the variance and the other arguments.

    Let L be the negative logarithm of the error probability of one end, and t = sqrt(2 L variance /
    n) + 2 span L / (3 n). Then n t**2 / (2 (variance + span t / 3)) is at least L. The probability
    of an error of t or more is therefore small enough.
    """
    scale = -2 * math.log(tail_of(family)) / reports
    shift, reach = span * scale / 3, hoeffding_half_width(span, reports, family)
    lower, upper = shares - shift, shares + shift  # shares between these two are never excluded
    low = np.maximum(np.minimum(_solved(lower, own, other, scale)[0], lower), shares - reach)
    high = np.minimum(np.maximum(_solved(upper, own, other, scale)[1], upper), shares + reach)
    return low, np.maximum(low, high)


def hoeffding_half_width(span: Floats | float, reports: Reports, family: float = 1) -> Floats | float:
    """Return the half-width of Hoeffding's interval for a mean (Hoeffding 1963, theorem 2).

    ``span`` is the largest score minus the smallest score.
    """
    half_width: Floats | float = span * np.sqrt(-math.log(tail_of(family)) / (2 * reports))
    return half_width
