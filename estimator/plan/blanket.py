"""An upper bound on what a tally reveals about one report, from the *privacy blanket*.

**Blanket.** The blanket of a channel assigns to each symbol the symbol's smallest probability over
all answers. Gamma is the sum of these probabilities. For example, consider randomized response for
"yes" and "no" at epsilon ln 3. The device sends the true answer with probability 3/4 and the other
answer with probability 1/4. Each symbol's smallest probability is 1/4, and gamma is 1/2. Every
report can be seen as drawn in two steps. With probability gamma, the symbol comes from the blanket,
whatever the answer. Otherwise, the symbol comes from a distribution that depends on the answer.

**Bound.** One of the n reports is the victim's. An observer wants to learn which of two answers the
victim gave. Let R0 and R1 be the distributions of the victim's symbol for these answers, u = R0 /
blanket and v = R1 / blanket. Assume that the observer knows all other reports that do not come from
the blanket. The reports from the blanket still hide the victim's report. Let W_1, ..., W_n be
independent. Each W is 0 with probability 1 - gamma. Otherwise, W is u - e^epsilon v at a symbol
drawn from the blanket. The hockey-stick divergence at epsilon, between the tallies for the two
answers, is at most E[max(0, W_1 + ... + W_n)] / n, so this value is a valid delta (Balle, Bell,
Gascon & Nissim 2019, "The privacy blanket of the shuffle model", CRYPTO, section 5). No other
decomposition of the reports gives a smaller bound (Su et al. 2025, "Decomposition-based optimal
bounds for privacy amplification via shuffling", arXiv 2504.07414). The bound remains valid for any
smaller blanket.

**Corners.** Let r = e^lambda be the largest ratio of a symbol's probabilities for two answers. Then
u and v lie between 1 and r, so each point (u, v) is a mixture of the corners of a square:

* (r, 1) and (1, r) are called *apart*. Their total weight is |u - v| / (r - 1).
* (r, r) is called *both*.
* (1, 1) is called *neither*.

W is linear in u and v, and max(0, .) is convex. By Jensen's inequality, the corners reveal at least
as much as the points. R0 and R1 each sum to 1, so three numbers determine all weights:

* ``a``, the weight of (r, 1), and also the weight of (1, r): the total variation distance of R0 and
  R1, divided by r - 1;
* the weight of *both*: s - a, with s = (1 - gamma) / (r - 1);
* the weight of *neither*: gamma - s - a.

**Worst pair.** If ``a`` is larger, more weight is at the two corners called *apart*, and less
weight is at *both* and *neither*. Compared with *both* and *neither*, W is larger at one corner
called *apart*, and smaller at the other. The mean of W does not change. This mean-preserving spread
increases the bound. The worst pair of answers therefore has the largest total variation distance.
If this distance is unknown, the code uses the largest ``a`` for which no weight is negative. Some
answers are encoded as a random input. The symbol of a randomly encoded answer has a mixture
distribution. No two mixtures have a larger total variation distance than the worst pair of inputs.

**Unknown blanket.** If the blanket is unknown, max(R0, R1) / r is a lower bound for the blanket. At
each symbol, u or v is then equal to r. By the same argument, all weight is at the corners called
*apart* in the worst case, and a = 1 / (r + 1). This worst case is randomized response, so no
channel with the same epsilon reveals more.

**Sums.** K is the number of reports at the two corners called *apart*. Each of these reports is at
(r, 1) with probability one half. N is the number of reports at (r, 1). G is the number of reports
in *neither*, plus r times the number in *both*. For x = e^epsilon, the sum of all W is (r - 1) (x +
1) (N - K / 2) - (x - 1) (K (r + 1) / 2 + G).

**Computation.** For given K and G, let f(G) be the expected value, over N, of the positive part of
this sum. The function f has a closed form, and is decreasing and convex in G. The code computes f
only at a few values of G, the *nodes*. Between two nodes, f lies below the chord. The chord lies
below the geometric interpolation times e^(L^2 / 8), where L is the difference of log f at the nodes
(Hoeffding 1963, lemma 1). For any t, this inequality bounds the maximum of f(g) e^(t g) between the
nodes. E f(G) is at most this maximum times E e^(-t G). The factor E e^(-t G) is a power of a simple
sum. With an approximately optimal t, the bound is nearly exact.

Bounds on binomial probabilities are computed with floats. The docstring of each function states
whether the function rounds up or down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.epsilon import as_float
from estimator.decoders.inversions import extreme_of, inversion_of
from estimator.statistics.arrays import Floats

EXACT_BELOW = 32
"""The smallest n for which the code uses Stirling's series to approximate log(n!).

With terms up to 1/n^7, the error is below 1/(1188 n^9), which is less than 3e-17.
"""

FIXED_ERROR = 2.0**-43
"""A bound on rounding errors, about a thousand units in the last place.

The bound exceeds the total rounding error of a few operations on numbers below 128. The bound also
exceeds the relative error of the continued fraction in `fair_tail_floor`.
"""

ERROR_PER_STEP = 2.0**-46
"""A bound on the rounding error in `log_mass_ceiling`, per unit of distance from the mean.

Digits are lost if two terms nearly cancel. Each of the two terms is at most 40 times the distance
of the number of successes from its mean.
"""

DEPTH = 32
"""The number of terms of the continued fraction in `fair_tail_floor`.

This number is even, so that omitting the further terms decreases the result. Far from the mean,
where delta is small, the omitted terms do not change the last digit.
"""

_STIRLING = np.array([0.0] + [math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n for n in range(1, EXACT_BELOW)])
_STIRLING[1:] -= math.log(2 * math.pi) / 2


def log_mass_ceiling(successes: Floats, trials: Floats, probability: float, complement: float) -> Floats:
    """Return the logarithms of binomial probabilities (Loader 2000), rounded up.

    ``complement`` is 1 - ``probability``, given as an argument because a subtraction would lose
    digits. Neither ``probability`` nor ``complement`` may be 0.
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
    """Return P(heads >= least) / P(heads = least - 1) for tosses of fair coins, rounded down.

    ``least`` is from (trials + 1) / 2 to trials + 1. The result comes from the continued fraction
    of the incomplete beta function at one half (DiDonato & Morris 1992, "Algorithm 708", BFRAC).
    Above the mean, all terms are positive. The value then lies between two consecutive convergents.
    """
    a, b = least, trials - least + 1
    half_sum, center = (a + b) / 2, (a - b) / 2 + 1
    fraction = np.zeros_like(a)
    ratio = (a + (DEPTH - 1)) / (a + (2 * DEPTH - 1))  # (a + n - 1) / (a + 2 n - 1) for n = DEPTH
    for n in range(DEPTH - 1, 0, -1):
        width = a + (2 * n - 1)
        added = np.maximum(b - n, 0.0) * (n / 2) / width  # the continued fraction ends if this is 0
        partial = ratio * (center + 1.5 * n) + added + n
        ratio = (a + (n - 1)) / width
        fraction = ratio * (half_sum + (n - 1) / 2) * added / (partial + fraction)
    floor: Floats = b / 2 / (ratio * center + fraction) * (1 - FIXED_ERROR)
    return floor


def _logarithm(probability: float, complement: float) -> float:
    """Return the logarithm of ``probability``, computed from the smaller of the two arguments."""
    return math.log(probability) if probability < complement else math.log1p(-complement)


def _stirling_error(count: Floats) -> Floats:
    """Return log n! minus Stirling's approximation, for n of at least 1."""
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
"""The maximum number of reports for which a bound is computed. Larger tallies are treated as if
they had this number of reports, because further reports could only lower delta.

The computing time grows with the square root of the number of reports.
"""

MOST_EPSILON = 64.0
"""The largest local epsilon for which amplification is computed. Above this epsilon, the code
assumes that the other reports do not hide a report.
"""

BUCKETS = 512
"""The number of buckets (ranges) for the values of K. The module's docstring defines K, N and W.

All values of K in a bucket are treated alike. N is computed with the largest K in the bucket,
because the distribution of N then has the largest spread. The amount subtracted in the sum of all W
is computed with the smallest K. Buckets can therefore only raise delta. With 10**4 reports or more,
buckets raise delta by less than 1%, and epsilon by less than 0.05%.
"""

POINTS = 2**14
"""The maximum number of nodes (values of G at which f is computed) in all buckets together."""

STEP = 0.125
"""The approximate decrease of log f between adjacent nodes, unless `POINTS` limits their number."""

TAIL = 2.0**-100
"""The total probability of the ignored values of K, and of G, on each side of the mean."""

ROUNDING = 1 + 2.0**-40
"""A factor that compensates for rounding in a few operations, or in a sum of positive floats."""

FAR = 700.0
"""An upper bound on the logarithm of f(G). A float can still represent e^FAR."""

UNDERFLOW = 2.0**-1000
"""An upper bound on the sum of all terms that floats round to zero."""


@dataclass(frozen=True, slots=True)
class Blanket:
    """The weights of four groups of symbols in a privacy blanket, for the worst pair of answers.

    Each symbol is likely for only the first answer, for only the second, for both answers, or for
    neither. The weight of a group of symbols is the total probability of these symbols in the
    blanket.

    * ``apart`` is a, the weight of the symbols that are likely for only the first answer. The
      symbols that are likely for only the second answer have the same weight.
    * ``both`` and ``neither`` are the weights of the other two groups.
    * ``local_epsilon`` is lambda, the epsilon of one report, above 0.
    """

    local_epsilon: float
    apart: float
    both: float = 0.0
    neither: float = 0.0

    @classmethod
    def of_epsilon(cls, local_epsilon: float) -> Self:
        """Return the blanket of randomized response, the worst channel with a given epsilon."""
        return cls(local_epsilon, math.exp(-local_epsilon) / (1 + math.exp(-local_epsilon)))

    @classmethod
    def of_channel(cls, channel: Channel) -> Self:
        """Return the blanket of a channel, which must not have a delta of its own.

        Each weight has a relative error of a few times 2^-53. `Shuffled` compensates by rounding
        up.
        """
        # For every symbol, some set contains no member that the symbol favors. The blanket of
        # sets is therefore the blanket of their members, which `last_step` randomizes.
        worst, total = cls.of_epsilon(as_float(epsilon_nanos(channel))), blanket_weight(channel.last_step)
        if total is None or worst.local_epsilon > MOST_EPSILON:
            return worst
        likelier = (1 - total) / Fraction(math.expm1(worst.local_epsilon))
        others = total - likelier
        most = Fraction(extreme_of(channel) * math.exp(-worst.local_epsilon) * ROUNDING)
        apart = min(most, likelier, others)
        return cls(worst.local_epsilon, float(apart), float(likelier - apart), float(others - apart))

    @property
    def rest(self) -> float:
        """The probability 1 - 2 a that a report is in *both* or *neither*.

        The probability is not computed by subtraction, which would lose digits.
        """
        return self.both + self.neither + (self.apart + self.both) * math.expm1(self.local_epsilon)


def blanket_weight(channel: Channel) -> Fraction | None:
    """Return a lower bound on gamma, the sum of the blanket's probabilities.

    Return None if no bound is known for the channel.
    """
    row = inversion_of(channel)
    if row.parts is not None:
        parts = [weight for part in row.parts(channel) if (weight := blanket_weight(part)) is not None]
        return sum(parts) / Fraction(len(parts)) if len(parts) == len(row.parts(channel)) else None
    return None if row.likelier is None else 1 - row.likelier(channel) * (1 - 1 / channel.worst_ratio)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The distribution of K, the number of reports in the two groups with weight ``Blanket.apart``.

    G is the number of reports in the group *neither*, plus r times the number of reports in the
    group *both*. Here, r is e^local_epsilon.

    Attributes:
        blanket: the blanket of the channel.
        reports: n, the number of reports.
        least: the smallest K of each bucket, in ascending order.
        most: the largest K of each bucket.
        weights: the probability of each bucket, rounded up.
        tail: the total probability of the ignored values of G, on each side of the mean.
        missed: the total probability of all K outside the buckets, rounded up.

    """

    blanket: Blanket
    reports: int
    least: Floats
    most: Floats
    weights: Floats
    tail: float
    missed: float

    @classmethod
    def among(cls, honest: int, blanket: Blanket, tail: float = TAIL) -> Self:
        """Return the distribution for a tally of ``honest`` reports.

        Unlikely values of K are left out.
        """
        if blanket.local_epsilon > MOST_EPSILON:
            nothing = np.zeros(0)
            return cls(blanket, 1, nothing, nothing, nothing, tail, 0.0)
        reports = min(honest, MOST_REPORTS)
        chance = 2 * blanket.apart
        mean, reach = (reports - 1) * chance, _reach(tail, (reports - 1) * chance * blanket.rest, 1.0)
        first, last = max(0, math.floor(mean - reach)), min(reports, math.ceil(mean + reach) + 1)
        counts = np.arange(first, last + 1, dtype=np.float64)
        masses = np.exp(log_mass_ceiling(counts, np.full_like(counts, reports), chance, blanket.rest))
        starts = np.arange(0, counts.size, -(-counts.size // BUCKETS))
        most = np.append(counts[starts[1:] - 1], counts[-1])
        missed = omitted(tail, below=first > 0, above=last < reports)
        return cls(blanket, reports, counts[starts], most, np.add.reduceat(masses, starts), tail, missed)

    def delta(self, epsilon: float) -> float:
        """Return a tally's delta, rounded up, for an epsilon of at least 0."""
        local = self.blanket.local_epsilon
        if epsilon >= local:
            return 0.0
        if local > MOST_EPSILON:
            return min(1.0, -math.expm1(epsilon - local) * ROUNDING)  # without amplification; e^epsilon might overflow
        excess = self._expected_excess(epsilon)
        known = float(self.weights @ excess) / self.reports
        return min(1.0, (known + self.missed + UNDERFLOW) * ROUNDING)

    def _expected_excess(self, epsilon: float) -> Floats:
        """Return the expected value of f(G) in each bucket of K, rounded up."""
        none = np.zeros((self.most.size, 1))
        if self.blanket.both == self.blanket.neither == 0:
            return self._excess(epsilon, none)[:, 0]
        values, chances = self._others()
        trials = self.reports - self.most
        mean = float(values @ chances)
        reach = _reach(self.tail, float(trials.max()) * float(values**2 @ chances), float(values[-1]))
        tilt = self._tilt(epsilon, values, chances)
        wanted = 3 + math.ceil(min(float(tilt.max()) * 2 * reach / STEP, POINTS))
        nodes = np.linspace(-reach, reach, min(wanted, max(3, POINTS // self.most.size)))
        sums = np.clip(trials[:, None] * mean + nodes, 0.0, trials[:, None] * values[-1])
        excess = self._excess(epsilon, sums)
        with np.errstate(divide="ignore"):
            logarithms = np.log(excess)
        rising = tilt[:, None] * sums
        falling = trials * np.log1p(np.expm1(-tilt[:, None] * values) @ chances)
        lifted = logarithms + rising
        with np.errstate(invalid="ignore"):
            chord = np.maximum(lifted[:, 1:], lifted[:, :-1]) + np.diff(logarithms, axis=1) ** 2 / 8
        step = logarithms[:, :-1] + rising[:, 1:]
        most = np.fmin(chord, step).max(axis=1)
        slack = FIXED_ERROR + ERROR_PER_STEP * (np.abs(falling) + rising.max(axis=1))
        within: Floats = np.exp(np.minimum(most + falling + slack, FAR))
        at_none = self._excess(epsilon, none)[:, 0]
        return np.minimum(within + self.tail * (at_none + excess[:, -1]), at_none)

    def _excess(self, epsilon: float, sums: Floats) -> Floats:
        """Return f for each bucket of K and each node G, rounded up, shape (buckets, nodes).

        Let x be e^epsilon, and t the smallest N with a positive sum of all W. The result is (r - 1)
        (x + 1) (K - t + 1) / 2 P(N = t - 1) - (x - 1) (K (r + 1) / 2 + G) P(N >= t). Rounding may
        change t by one. The additional or missing term is nearly 0, so the result hardly changes.
        """
        swing = math.expm1(self.blanket.local_epsilon) * (2 + math.expm1(epsilon))
        loss = math.expm1(epsilon) * drag(self.blanket, self.least[:, None], sums) * (1 - FIXED_ERROR)
        coins = np.broadcast_to(self.most[:, None], loss.shape)
        least = least_positive(coins, loss, swing)
        edge = np.exp(log_mass_ceiling(least - 1, coins, 0.5, 0.5))
        gain = swing / 2 * (coins - least + 1) * (1 + FIXED_ERROR)
        excess: Floats = edge * np.maximum(gain - loss * fair_tail_floor(least, coins), 0.0)
        return excess

    def _tilt(self, epsilon: float, values: Floats, chances: Floats) -> Floats:
        """Return a nearly optimal t for each bucket of K (see the module's docstring).

        The choice of t assumes that G is normally distributed. The bound is valid for any t.
        """
        swing = math.expm1(self.blanket.local_epsilon) * (2 + math.expm1(epsilon))
        unit = 2 * math.expm1(epsilon) / swing / np.sqrt(np.maximum(self.most, 1.0))
        tilt = np.zeros_like(self.most)
        for _ in range(4):
            weights = np.exp(-tilt[:, None] * values)
            mean = (weights * values) @ chances / (1 + (weights - 1) @ chances)
            distance = unit * drag(self.blanket, self.least, (self.reports - self.most) * mean)
            tilt = unit * (distance / 2 + np.sqrt(distance**2 / 4 + 2))
        return tilt

    def _others(self) -> tuple[Floats, Floats]:
        """Return the values that a report can add to G, and the probability of each value.

        The report is assumed to be in *both* or *neither*, because K counts all other reports.
        """
        pairs = [(1.0, self.blanket.neither), (math.exp(self.blanket.local_epsilon), self.blanket.both)]
        values, chances = zip(
            *((value, chance / self.blanket.rest) for value, chance in pairs if chance > 0), strict=True
        )
        return np.array(values), np.array(chances)


def _reach(tail: float, variance: float, most: float) -> float:
    """Return a bound on the distance between a sum of random terms and the mean of this sum.

    On each side, the distance exceeds the bound with a probability of at most ``tail``. No term is
    farther from its mean than ``most``. By Bernstein's inequality, the sum exceeds its mean by s or
    more with a probability of at most exp(-s^2 / (2 (variance + most s / 3))). The same inequality
    applies below the mean.
    """
    exponent = -math.log(tail)
    reach = most * exponent / 3
    return most + reach + math.sqrt(reach**2 + 2 * exponent * variance)


def drag(blanket: Blanket, apart: Floats, others: Floats) -> Floats:
    """Return K (r + 1) / 2 + G, half the sum of all u + v (see the module's docstring)."""
    return apart * ((math.exp(blanket.local_epsilon) + 1) / 2) + others


def omitted(tail: float, *, below: bool, above: bool) -> float:
    """Return the total probability of the ignored values. This probability is added to delta."""
    return tail * (below + above)


def least_positive(coins: Floats, loss: Floats, swing: float) -> Floats:
    """Return the smallest N with a positive sum of all W.

    ``coins`` is K. The sum is ``swing`` * (N - K / 2) - ``loss``.
    """
    odd = coins % 2
    above: Floats = np.floor(loss / swing + odd / 2) + (coins - odd) / 2 + 1
    return np.minimum(above, coins + 1)
