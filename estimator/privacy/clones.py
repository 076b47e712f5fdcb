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
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimator.privacy.binomial_bounds import FIXED_ERROR, fair_tail_floor, log_mass_ceiling
from estimator.statistics.arrays import Floats

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
