"""The privacy blanket: an upper bound, in floats, on what a tally reveals about one report.

The blanket of a channel consists of the smallest probability of each symbol over all answers. The
sum of these probabilities is gamma. For instance, yes and no at epsilon ln 3 are sent with
probabilities 3/4 and 1/4, so the blanket has 1/4 for each symbol, and gamma is 1/2. Whatever the
answer, a report can be regarded as drawn from the blanket with probability gamma, and from a
distribution that depends on the answer otherwise.

One of the n reports in a tally is the victim's. Let R0 and R1 be the distributions of its symbol
for the two answers that an observer wants to tell apart, u = R0 / blanket and v = R1 / blanket.
Consider an observer who knows all other reports that are not drawn from the blanket. Even this
observer cannot distinguish the victim's report from the remaining reports. The hockey-stick
divergence at an epsilon is then E[max(0, W_1 + ... + W_n)] / n. Each W is independently, with
probability gamma, the value of u - e^epsilon v at a symbol drawn from the blanket, and otherwise 0.
The divergence of the tallies is at most this value, which is therefore a valid delta (Balle, Bell,
Gascon & Nissim 2019, "The privacy blanket of the shuffle model", CRYPTO, section 5). No other
decomposition of the reports gives a smaller bound (Su et al. 2025, "Decomposition-based optimal
bounds for privacy amplification via shuffling", arXiv 2504.07414). The bound remains valid if the
blanket is replaced by any smaller one.

For every channel, the worst pair of answers follows from convexity. Let r = e^lambda be the largest
ratio of a symbol's probabilities under two answers, so that u and v lie between 1 and r. Each point
(u, v) is a mixture of three kinds of corners: *apart*, (r, 1) or (1, r), with a weight of |u - v| /
(r - 1); *both*, (r, r); and *neither*, (1, 1). W is linear in u and v, and max(0, .) is convex, so
the corners reveal at least as much as the points (Jensen). R0 and R1 each sum to 1, so three
numbers are enough:

* a, the weight of (r, 1), which is also the weight of (1, r): the total variation distance of R0
  and R1, divided by r - 1;
* the weight of both: s - a, with s = (1 - gamma) / (r - 1);
* the weight of neither: gamma - s - a.

A larger a moves weight from *both* and *neither* to the two corners that are apart. W is larger at
one of these corners, and smaller at the other, while the mean of W does not change. This is a
mean-preserving spread, so the worst pair is the one with the largest total variation distance. If
this distance is unknown, the largest a without a negative weight is used. An answer that is encoded
as one of several inputs at random has a mixture of their distributions, and the total variation
distance of two mixtures is no larger.

If a channel's blanket is unknown, max(R0, R1) / r is used as a lower bound, so that u or v is r. By
the same argument, all weight is apart in the worst case: a = 1 / (r + 1). Randomized response is
this worst case, and is therefore the worst of all channels with the same epsilon.

Of the n reports, K are apart, which means that they are drawn from one of the two corners *apart*.
Each of these is at the corner (r, 1) with probability one half, and N is the number of reports at
this corner. G is the number of reports in *neither*, plus r times the number of reports in *both*.
For x = e^epsilon, the sum of all W is (r - 1) (x + 1) (N - K / 2) - (x - 1) (K (r + 1) / 2 + G).
Its expected positive part over N, f(G), has a closed form for each K and G, and is decreasing and
convex in G. f is computed at a few values of G, the *nodes*. Between two nodes, f lies below the
chord. The chord lies below the geometric interpolation between the nodes, times e^(L^2 / 8), where
L is the difference between the logarithms of f at the nodes (Hoeffding 1963, lemma 1). This bounds
the maximum of f(g) e^(t g) between nodes for any t. E f(G) is at most this maximum times E e^(-t
G), which is a power. For an approximately optimal t, the bound is nearly exact.

The binomial distributions are bounded in floats. Each function states whether its result is rounded
up or down.
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
"""The least n for Stirling's series up to 1/n^7, with an error < 1/(1188 n^9) < 3e-17."""

FIXED_ERROR = 2.0**-43
"""A bound on rounding errors: about a thousand units in the last place.

The bound exceeds the sum of the rounding errors of a few numbers below 128. It also exceeds the
relative error of the continued fraction in `fair_tail_floor`.
"""

ERROR_PER_STEP = 2.0**-46
"""A bound on the rounding error in `log_mass_ceiling` per unit of distance from the mean.

Digits are lost if two terms nearly cancel. Such terms are at most 40 times the distance from the
mean number of successes.
"""

DEPTH = 32
"""The number of terms of the continued fraction in `fair_tail_floor`.

This number is even, so that omitting all further terms makes the tail smaller. Far from the mean,
where delta is small, the omitted terms change less than the last digit.
"""

_STIRLING = np.array([0.0] + [math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n for n in range(1, EXACT_BELOW)])
_STIRLING[1:] -= math.log(2 * math.pi) / 2


def log_mass_ceiling(successes: Floats, trials: Floats, probability: float, complement: float) -> Floats:
    """Return the logarithm of binomial probabilities, rounded up (Loader 2000).

    Args:
        successes: the numbers of successes, from 0 to ``trials``.
        trials: the numbers of trials.
        probability: the probability of a success, above 0.
        complement: the probability of a failure, above 0. It is a separate argument, because
            subtracting a probability close to 1 from 1 loses digits.

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

    The result is computed from the continued fraction of the incomplete beta function (DiDonato &
    Morris 1992, "Algorithm 708", BFRAC) at one half. Above the mean, all of its terms are positive,
    so the value lies between two consecutive convergents.

    Args:
        least: the smallest number of heads, above the mean: from (trials + 1) / 2 to trials + 1.
        trials: the number of coins, at least 0.

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
    """Return the logarithm of a probability, from its complement if this is more accurate."""
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
"""The maximum number of reports that are taken into account. More reports could only lower delta.

The computing time grows with the square root of this number.
"""

MOST_EPSILON = 64.0
"""The local epsilon above which other reports are assumed to give no protection to a report."""

BUCKETS = 512
"""The number of buckets (ranges) into which the values of K are divided.

For K, N, G, W and f, see the description of this module.

A bucket is treated as a single value, in two ways. The number of fair coins that determine N is the
bucket's largest K, because the sum of these coins is then most spread out. The amount that is
subtracted in the sum of all W is that of the bucket's smallest K. Buckets can therefore only raise
delta. With 10**4 reports or more, they raise delta by less than 1%, and epsilon by less than 0.05%.
"""

POINTS = 2**14
"""The maximum number of nodes, which are values of G at which f is computed, for all K together."""

STEP = 0.125
"""The approximate decrease of log f between adjacent nodes. It is larger if `POINTS` is reached."""

TAIL = 2.0**-100
"""The probability of the ignored values of K, and of G, on each side of the mean."""

ROUNDING = 1 + 2.0**-40
"""A factor that exceeds the rounding errors of a few operations or of a sum of positive floats."""

FAR = 700.0
"""A number above the logarithm of any f(G). A float can still represent its exponential."""

UNDERFLOW = 2.0**-1000
"""An upper bound on the sum of all terms that floats round to zero."""


@dataclass(frozen=True, slots=True)
class Blanket:
    """What one report of a channel reveals, for the worst pair of answers.

    Each symbol belongs to one of four groups: likely only for the first answer of the pair, only
    for the second, for both, or for neither. A weight is the probability of a group's symbols in
    the blanket, which is the smallest probability of each symbol over all answers.

    Attributes:
        local_epsilon: lambda, the epsilon of one report, above 0.
        apart: a, the weight of the symbols that only the first of two answers makes more likely.
            The symbols that only the second answer makes more likely have the same weight.
        both: the weight of the symbols that both answers make more likely.
        neither: the weight of all other symbols.

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
        """Return the blanket of a channel whose own delta is 0.

        The relative error of each number is a few times 2^-53. `Shuffled` rounds up by more than
        this.
        """
        # for every symbol, some set has no member that the symbol favors; so the blanket of sets is
        # the blanket of their members, from `last_step`
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
        """The probability 1 - 2 a that a report is not apart, computed without cancellation."""
        return self.both + self.neither + (self.apart + self.both) * math.expm1(self.local_epsilon)


def blanket_weight(channel: Channel) -> Fraction | None:
    """Return a lower bound on gamma, the weight of the blanket. None if gamma is unknown."""
    row = inversion_of(channel)
    if row.parts is not None:
        parts = [weight for part in row.parts(channel) if (weight := blanket_weight(part)) is not None]
        return sum(parts) / Fraction(len(parts)) if len(parts) == len(row.parts(channel)) else None
    return None if row.likelier is None else 1 - row.likelier(channel) * (1 - 1 / channel.worst_ratio)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The distribution of K, the number of reports in a tally that are apart.

    A report is *apart* if it is drawn from symbols of the blanket that are likely for only one of
    the two answers. For G, see the description of this module.

    Attributes:
        blanket: the blanket of each report.
        reports: n, the number of reports.
        least: the smallest K of each bucket, in ascending order.
        most: the largest K of each bucket.
        weights: the probability of each bucket, rounded up.
        tail: the probability of the values of G that are ignored at each end.
        missed: the probability of all K outside the buckets, rounded up.

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
        """Return the distribution for some honest reports, without the least likely values of K."""
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
        """Return the delta of a tally at an epsilon of at least 0, rounded up."""
        local = self.blanket.local_epsilon
        if epsilon >= local:
            return 0.0
        if local > MOST_EPSILON:
            return min(1.0, -math.expm1(epsilon - local) * ROUNDING)  # without amplification; e^epsilon might overflow
        excess = self._expected_excess(epsilon)
        known = float(self.weights @ excess) / self.reports
        return min(1.0, (known + self.missed + UNDERFLOW) * ROUNDING)

    def _expected_excess(self, epsilon: float) -> Floats:
        """Return the expectation of f(G) for each K, rounded up."""
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
        """Return f for each K and each G, rounded up; shape (buckets, nodes).

        Let x be e^epsilon, and t the smallest N for which the sum of all W is above 0. The result
        is (r - 1) (x + 1) (K - t + 1) / 2 P(N = t - 1) - (x - 1) (K (r + 1) / 2 + G) P(N >= t). If
        rounding changes t by one, the result hardly changes, because the additional or missing term
        is nearly 0.
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
        """Return t for each K: the slope of log f where G matters most, if G were normal."""
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
        """Return what a report may add to G, given that it is not apart, with the probabilities."""
        pairs = [(1.0, self.blanket.neither), (math.exp(self.blanket.local_epsilon), self.blanket.both)]
        values, chances = zip(
            *((value, chance / self.blanket.rest) for value, chance in pairs if chance > 0), strict=True
        )
        return np.array(values), np.array(chances)


def _reach(tail: float, variance: float, most: float) -> float:
    """Return a distance from the mean that a sum exceeds on either side with probability <= tail.

    Bernstein's inequality states, for each side, that P(|sum - mean| >= s) <= exp(-s^2 / (2
    (variance + most s / 3))) if no term is farther from its mean than ``most``.
    """
    exponent = -math.log(tail)
    reach = most * exponent / 3
    return most + reach + math.sqrt(reach**2 + 2 * exponent * variance)


def drag(blanket: Blanket, apart: Floats, others: Floats) -> Floats:
    """Return K (r + 1) / 2 + G, which is half the sum of all u + v."""
    return apart * ((math.exp(blanket.local_epsilon) + 1) / 2) + others


def omitted(tail: float, *, below: bool, above: bool) -> float:
    """Return the probability of the ignored values, which are assumed to reveal everything."""
    return tail * (below + above)


def least_positive(coins: Floats, loss: Floats, swing: float) -> Floats:
    """Return the smallest N for which the sum of all W is above 0.

    Args:
        coins: K, the numbers of reports that are apart.
        loss: the amount that is subtracted in the sum of all W.
        swing: the amount by which the sum rises with N.

    """
    odd = coins % 2
    above: Floats = np.floor(loss / swing + odd / 2) + (coins - odd) / 2 + 1
    return np.minimum(above, coins + 1)
