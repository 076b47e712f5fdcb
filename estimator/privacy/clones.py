"""The pair of clones: an upper bound, in floats, on what a tally reveals about one report.

Let R0 and R1 be the laws of the symbol for the two answers in question, and lambda the epsilon of
one report. Both are mixtures of the same two laws, with weights e^lambda : 1 and 1 : e^lambda.
Every other report, whatever its answer, is drawn from (R0 + R1) / 2 with probability e^-lambda: it
is a *clone*, which could be either. An observer who knows which C + 1 reports these are, C ~ Bin(n
- 1, e^-lambda), still sees only A + D of the one kind and C - A + 1 - D of the other, with A ~
Bin(C, 1/2), and D ~ Bernoulli(e^lambda / (1 + e^lambda)) for the one answer, Bernoulli(1 / (1 +
e^lambda)) for the other. The hockey-stick divergence of these two laws at an epsilon bounds that of
the tallies: it is the delta (Feldman, McMillan & Talwar 2021, "Hiding among the clones", FOCS,
theorem 3.1; 2023, "Stronger privacy amplification by shuffling for Renyi and approximate
differential privacy", SODA, builds on it).

It holds for every channel of that epsilon. If (e^lambda + 1) R(y) >= R0(y) + R1(y) for every third
answer's law R, as in k-ary randomized response, clones are more frequent: 2 / (e^lambda + 1).
Designs do not satisfy this, because two answers may prefer a symbol that the third avoids. It is
therefore not used, although it would save a fifth to a third of epsilon.

The binomial laws are bounded in floats, from the side that each function names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimator.statistics.arrays import Floats

EXACT_BELOW = 32
"""From here on Stirling's series to 1/n^7 errs by less than 1 / (1188 n^9), which is below
3e-17.
"""

FIXED_ERROR = 2.0**-43
"""A thousand units in the last place: more than the few roundings of numbers below 128 and of a
fraction.
"""

ERROR_PER_STEP = 2.0**-46
"""A logarithm loses digits where two terms cancel that are at most 40 times the distance from the
mean.
"""

DEPTH = 64
"""Partial quotients of the tail. The number is even, so that the omitted rest makes the tail
smaller. At one standard deviation from the mean of 10**8 trials the rest is less than one part in
10**6, at two less than one in 10**12.
"""

_STIRLING = np.array([0.0] + [math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n for n in range(1, EXACT_BELOW)])
_STIRLING[1:] -= math.log(2 * math.pi) / 2


def log_mass_ceiling(successes: Floats, trials: Floats, probability: float, complement: float) -> Floats:
    """Return the logarithm of the binomial law, rounded up (Loader 2000, "Fast and accurate ...").

    Args:
        successes: from 0 to ``trials``.
        trials: whole numbers.
        probability: of a success, above 0.
        complement: of a failure, above 0. It is given because one minus a probability near one has
            lost its digits.

    """
    failures = trials - successes
    mean = trials * probability
    ends = (successes == 0) | (failures == 0)
    inner_successes, inner_failures, inner_trials = (
        np.where(ends, 1.0, number) for number in (successes, failures, trials)
    )
    inner = _stirling_error(inner_trials) - _stirling_error(inner_successes) - _stirling_error(inner_failures)
    inner -= _deviance(inner_successes, inner_trials * probability) + _deviance(
        inner_failures, inner_trials * complement
    )
    inner += np.log(inner_trials / (2 * math.pi * inner_successes * inner_failures)) / 2
    outer = successes * _logarithm(probability, complement) + failures * _logarithm(complement, probability)
    logarithm: Floats = np.where(ends, outer, inner)
    return logarithm + FIXED_ERROR + ERROR_PER_STEP * np.abs(successes - mean)


def fair_tail_floor(least: Floats, trials: Floats) -> Floats:
    """Return P(heads >= least) / P(heads = least - 1) for fair coins, rounded down.

    This is the continued fraction of the incomplete beta function (DiDonato & Morris 1992,
    "Algorithm 708", BFRAC) at one half. Above the mean all its terms are positive, so it lies
    between any two neighboring convergents.

    Args:
        least: above the mean: from (trials + 1) / 2 to trials + 1.
        trials: the number of coins, from 0.

    """
    a, b = least, trials - least + 1
    half_sum, centre = (a + b) / 2, (a - b) / 2 + 1
    fraction = np.zeros_like(a)
    ratio = (a + (DEPTH - 1)) / (a + (2 * DEPTH - 1))  # (a + n - 1) / (a + 2 n - 1); step n needs that of n + 1
    for n in range(DEPTH - 1, 0, -1):
        width = a + (2 * n - 1)
        added = np.maximum(b - n, 0.0) * (n / 2) / width  # the fraction ends at 0
        partial = ratio * (centre + 1.5 * n) + added + n
        ratio = (a + (n - 1)) / width
        fraction = ratio * (half_sum + (n - 1) / 2) * added / (partial + fraction)
    floor: Floats = b / 2 / (ratio * centre + fraction) * (1 - FIXED_ERROR)
    return floor


def _logarithm(probability: float, complement: float) -> float:
    """Return the logarithm of a probability, from its complement if that has more digits."""
    return math.log(probability) if probability < complement else math.log1p(-complement)


def _stirling_error(count: Floats) -> Floats:
    """Return log n! minus Stirling's approximation, for n from 1."""
    large = np.maximum(count, EXACT_BELOW)
    square = large**2
    series: Floats = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / large
    if count.min(initial=EXACT_BELOW) >= EXACT_BELOW:
        return series
    exact: Floats = _STIRLING[np.minimum(count, EXACT_BELOW - 1).astype(np.int64)]
    return np.where(count < EXACT_BELOW, exact, series)


def _deviance(count: Floats, mean: Floats) -> Floats:
    """Return count * log(count / mean) + mean - count, which is at least 0."""
    distance = count - mean
    deviance: Floats = count * np.log1p(distance / mean) - distance
    return deviance


MOST_REPORTS = 2**33
"""More reports are not counted, which cannot lower delta: the time grows with the root of their
number.
"""

MOST_EPSILON = 64.0
"""Above it, no clone is expected among ``MOST_REPORTS`` reports, and none is counted."""

BUCKETS = 1024
"""The number of distinguished numbers of clones. A number is rounded down to the least of its
bucket. This can only raise delta, because anybody could add a clone to the observation. From 10**5
reports of epsilon 4 on it does so by less than a 400th, which is a 10,000th of epsilon.
"""

TAIL = 2.0**-100
"""The probability of the numbers of clones that are ignored far from the mean, on either side."""

ROUNDING = 1 + 2.0**-40
"""Raises a sum of many positive floats, or the result of a few operations, above its rounding
errors.
"""

UNDERFLOW = 2.0**-1000
"""More than all terms together that a float holds as zero."""


@dataclass(frozen=True, slots=True)
class Clones:
    """The law of the number of other reports that are clones.

    Attributes:
        local_epsilon: lambda, above 0.
        counts: the least number of each bucket, rising.
        weights: the probability of each bucket, rounded up.
        missed: the probability of every other number, rounded up.

    """

    local_epsilon: float
    counts: Floats
    weights: Floats
    missed: float

    @classmethod
    def of(cls, honest: int, local_epsilon: float, tail: float = TAIL) -> Clones:
        """Return the law for a number of honest reports, without a tail on either side.

        By Bernstein's inequality P(|C - mean| >= s) <= exp(-s^2 / (2 (variance + s / 3))) on each
        side.
        """
        others = min(honest, MOST_REPORTS) - 1 if local_epsilon <= MOST_EPSILON else 0
        clone, none = clone_probability(min(local_epsilon, MOST_EPSILON))
        mean, exponent = others * clone, -math.log(tail)
        reach = 1 + exponent / 3 + math.sqrt((exponent / 3) ** 2 + 2 * exponent * mean * none)
        first, last = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
        counts = np.arange(first, last + 1, dtype=np.float64)
        masses = np.exp(log_mass_ceiling(counts, np.full_like(counts, others), clone, none))
        starts = np.arange(0, counts.size, -(-counts.size // BUCKETS))
        missed = omitted(tail, below=first > 0, above=last < others)
        return cls(local_epsilon, counts[starts], np.add.reduceat(masses, starts), missed)

    def delta(self, epsilon: float) -> float:
        """Return the divergence at an epsilon from 0 up, rounded up.

        Given C it is (1 - e^(epsilon - lambda)) / (1 + e^-lambda) P(A = t - 1) - (e^epsilon - 1)
        P(A >= t), with t the least number that favours the one answer by e^epsilon. If rounding
        moves t by one, the term added or left out would be zero without that rounding.
        """
        if epsilon >= self.local_epsilon:
            return 0.0
        gain = -math.expm1(epsilon - self.local_epsilon) / (1 + math.exp(-self.local_epsilon)) * (1 + FIXED_ERROR)
        if self.local_epsilon > MOST_EPSILON:
            return min(1.0, gain)  # without clones; e^epsilon might overflow
        least = least_favouring(self.counts, self.local_epsilon, epsilon)
        edge = np.exp(log_mass_ceiling(least - 1, self.counts, 0.5, 0.5))
        excess = gain - math.expm1(epsilon) * fair_tail_floor(least, self.counts)
        known = float(self.weights @ (edge * np.maximum(excess, 0.0)))
        return min(1.0, (known + self.missed + UNDERFLOW) * ROUNDING)


def clone_probability(local_epsilon: float) -> tuple[float, float]:
    """Return the probability that another report is a clone, and that it is not."""
    return math.exp(-local_epsilon), -math.expm1(-local_epsilon)


def omitted(tail: float, *, below: bool, above: bool) -> float:
    """Return the probability of the ignored numbers. Each of them may reveal everything."""
    return tail * (below + above)


def least_favouring(counts: Floats, local_epsilon: float, epsilon: float) -> Floats:
    """Return the least number of the one kind, of C + 1, with odds of e^epsilon for the one answer.

    With a of the one kind and b of the other the odds are (e^lambda a + b) / (a + e^lambda b); they
    rise with a.
    """
    share = -math.expm1(-epsilon - local_epsilon) / (-math.expm1(-local_epsilon) * (1 + math.exp(-epsilon)))
    above: Floats = np.floor((counts + 1) * share) + 1
    return np.minimum(above, counts + 1)
