"""Bounds on how far fabricated reports moved an estimate, and a test for fabricated reports.

**The bounds.** An estimate is the mean of scores, one for each report. Let beta be the fraction of
fabricated reports, and e the estimate. Let *least* and *most* be the smallest and the largest score
of a symbol. Fabricated reports can have raised e by at most beta * (most - e) / (1 - beta), and
lowered e by at most beta * (e - least) / (1 - beta).

Sources: Cao, Jia & Gong 2021, "Data poisoning attacks to local differential privacy protocols",
section 4; Cheu, Smith & Ullman 2021, "Manipulation attacks in local differential privacy".

**The test** asks whether some population could have produced the tally. Every population's answers
lead to a distribution of symbols. The set of these distributions is the channel's range. At epsilon
ln 3, for instance, devices report "yes" with a probability from 1/4 to 3/4. A tally with 90% "yes"
is far outside this range. Passing the test does not prove that reports are honest: fabricated
reports pass if they imitate some population.

The statistic is twice the log-likelihood ratio of the tally's frequencies to the most likely
distribution in the range. The p-value comes from tallies drawn from this distribution (a parametric
bootstrap; Davison & Hinkley 1997, "Bootstrap methods and their application", section 4.2).

If a true share is 0, its estimate may be above 0 by chance. Drawn tallies would then be too close
to the range, and the test would reject honest tallies twice as often as its significance level
allows. Before the draws, the test therefore replaces each share that may be noise with 0. Source:
Andrews & Soares 2010, "Inference for parameters defined by moment inequalities using generalized
moment selection". For numbers on a grid, the test replaces no shares. In measurements, up to 9% of
the honest tallies of such numbers had p <= .05.

**Fewer draws.** Drawing ends as soon as the result is clear (Besag & Clifford 1991, "Sequential
Monte Carlo p-values"). The test counts the drawn tallies that are at least as far from the range as
the observed tally. The distance of a drawn tally from the distribution that produced the tally is
easy to compute, and is an upper bound on the drawn tally's distance from the range. Most drawn
tallies therefore need no fit.

**Fewer steps.** Expectation maximization finds the distance from the range step by step. Each step
gives an upper and a lower bound on this distance, because the log-likelihood is concave (Lindsay
1983, "The geometry of mixture likelihoods", theorem 4.1). The fit of a drawn tally ends once these
bounds decide whether the tally is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from client_sdk.protocol.channel import Channel
from estimator.decoders.decoder import ChannelLaw, Inverse
from estimator.decoders.inversions import decoder_of, grid_law, inverse_of
from estimator.decoders.one_of import OneOfShares
from estimator.decoders.pair_geometry import PairShares
from estimator.likelihood.histogram import AT_ONCE, MAX_ACCELERATED, extrapolated, stepped
from estimator.likelihood.shares import SLACK, climbed, maximum_likelihood, slack
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import Fakes, Move, RangeTest
from estimator.statistics.arrays import Counts, Floats

DRAWN_AT_MOST = 999
"""The maximum number of drawn tallies. The smallest possible p-value is 1 / (999 + 1) = 0.001."""

CLEAR = 10
"""The number of far drawn tallies at which the test ends.

A drawn tally is *far* if it is at least as far from the channel's range as the tested tally.
"""

SEED = 1
"""The fixed seed of the random draws. A tally has the same p-value in every report."""

ROUNDING = 1e-9
"""The relative size of rounding errors.

A test statistic below this number times the number of reports counts as 0. Two statistics count as
equal if their relative difference is at most this number.
"""

LOG_CERTAIN = -40.0
"""The logarithm of a negligible probability.

If the bound from `_log_chance`, times `DRAWN_AT_MOST`, is below this probability, the p-value is
certainly small, and the test draws no tallies.
"""

NUMBERS_AT_ONCE = 2**16
"""The maximum number of symbol counts in a batch of drawn tallies."""

Extremes = tuple[Floats, Floats]
"""The smallest and the largest score of a report for each estimate, each of shape (estimates,)."""


def range_test(channel: Channel, counts: Counts) -> RangeTest:
    """Test whether some population could have produced a tally.

    The tally needs at least one report.
    """
    reports, inverse = int(counts.sum()), None if _is_on_grid(channel) else inverse_of(channel)
    if isinstance(inverse, PairShares):
        return _test_of_elements(inverse, counts)
    law = likeliest_law(channel, counts)
    statistic = _statistic(counts, law)
    if statistic <= ROUNDING * reports:
        return RangeTest(max(0.0, statistic), 1.0, drawn=0, impossible=False)
    if _log_chance(statistic, channel.symbols) + math.log(DRAWN_AT_MOST) < LOG_CERTAIN:
        return RangeTest(statistic, 1 / (DRAWN_AT_MOST + 1), drawn=0, impossible=True)
    drawn_from = law if _is_on_grid(channel) else _barest_law(inverse_of(channel), counts)
    number_as_far = 0
    for drawn, is_as_far in enumerate(_drawn(channel, reports, drawn_from, statistic), start=1):
        number_as_far += is_as_far
        if number_as_far == CLEAR:
            return RangeTest(statistic, CLEAR / drawn, drawn, impossible=False)
    return RangeTest(statistic, (number_as_far + 1) / (DRAWN_AT_MOST + 1), DRAWN_AT_MOST, impossible=number_as_far == 0)


def _test_of_elements(inverse: PairShares, counts: Counts) -> RangeTest:
    """Test a tally of pair geometry. The test counts the reported blocks that contain each element.

    The shares of elements do not determine the probabilities of blocks, so the usual test does not
    apply. The number of blocks that contain an element is binomial. The probability that a reported
    block contains the element is lowest if no set contains the element, and highest if every set
    does.

    The test uses the element whose frequency is farthest outside the range between these two
    probabilities. The p-value is Chernoff's bound, times twice the number of elements, because each
    frequency can be below or above the range.
    """
    reports, (low, high) = int(counts.sum()), inverse.chances()
    inside = inverse.support_counts(counts)
    nearest = np.clip(inside / reports, low, high) * reports
    distances = xlogy(inside, inside / nearest) + xlogy(reports - inside, (reports - inside) / (reports - nearest))
    statistic = max(0.0, 2 * float(distances.max()))
    p_value = min(1.0, 2 * inside.size * math.exp(-statistic / 2))
    return RangeTest(statistic, p_value, drawn=0, impossible=p_value * (DRAWN_AT_MOST + 1) <= 1)


def _log_chance(statistic: float, symbols: int) -> float:
    """Return the logarithm of an upper bound on the p-value of a statistic.

    The bound applies to a drawn tally's distance from the distribution that produced the tally, for
    any number of reports. Source: Agrawal 2020, "Finite-sample concentration of the multinomial in
    relative entropy", theorem 1.2.
    """
    distance, free = statistic / 2, symbols - 1
    return 0.0 if distance <= free else free * (1 + math.log(distance / free)) - distance


def _drawn(channel: Channel, reports: int, law: Floats, statistic: float) -> Iterator[bool]:
    """Draw tallies, and yield whether the statistic of each is at least ``statistic``."""
    generator, first = np.random.default_rng(SEED), 0
    at_once = max(1, min(AT_ONCE, NUMBERS_AT_ONCE // channel.symbols))
    while first < DRAWN_AT_MOST:
        tallies = generator.multinomial(reports, law, size=min(at_once, max(first, CLEAR), DRAWN_AT_MOST - first))
        first += len(tallies)
        if _is_on_grid(channel):
            # the observed tally's statistic may be too large, because its fit is incomplete
            distance = statistic - 2 * float(slack(channel.inputs, reports))
            yield from as_far(grid_law(channel), channel.inputs, tallies, distance).tolist()
        else:
            least = statistic * (1 - ROUNDING)
            are_as_far = np.array([_statistic(tally, law) >= least for tally in tallies])
            if are_as_far.any():
                fitted = zip(tallies[are_as_far], likeliest_law(channel, tallies[are_as_far]), strict=True)
                are_as_far[are_as_far] = [_statistic(*each) >= least for each in fitted]
            yield from are_as_far.tolist()


def likeliest_law(channel: Channel, counts: Counts) -> Floats:
    """Return, for each tally, the most likely distribution of symbols in the channel's range.

    ``counts`` has shape (..., m). Each tally needs at least one report.
    """
    if _is_on_grid(channel):
        operators = grid_law(channel)
        alike = np.full((*counts.shape[:-1], channel.inputs), 1 / channel.inputs)
        law = operators.symbol_law(climbed(operators, counts, alike))
    else:
        inverse = inverse_of(channel)
        law = inverse.symbol_law(maximum_likelihood(inverse, counts))
    normalized: Floats = law / law.sum(axis=-1, keepdims=True)
    return normalized


def _is_on_grid(channel: Channel) -> bool:
    """Return whether the inputs are the points of a number's grid.

    The share of a single point can hardly be estimated, so these channels need a different fit.
    """
    return decoder_of(channel) is not None


def _barest_law(inverse: Inverse, counts: Counts) -> Floats:
    """Return the most likely distribution of symbols, after setting shares that may be noise to 0.

    A share may be noise if it is below its standard error times sqrt(log n), for n reports.
    """
    reports = int(counts.sum())
    shares = maximum_likelihood(inverse, counts)
    is_above_zero = shares > math.sqrt(math.log(max(reports, 2))) * inverse.standard_errors(counts, reports)
    is_above_zero[shares.argmax()] = True
    left = np.where(is_above_zero, shares, 0.0)
    law = inverse.symbol_law(left if isinstance(inverse, OneOfShares) else left / left.sum())
    normalized: Floats = law / law.sum()
    return normalized


def _statistic(counts: Counts, law: Floats) -> float:
    seen = counts > 0
    expected = counts.sum() * law[seen]
    return 2 * float(counts[seen] @ np.log(counts[seen] / expected))


def fakes_of(
    channel: Channel, extremes: Extremes, counts: Counts, groups: Sequence[FigureGroup], fraction: float
) -> Fakes:
    """Return how far fabricated reports could have moved a tally's estimates, and test the tally.

    Args:
        channel: the channel of the metric.
        extremes: the smallest and the largest score of a report for each estimate.
        counts: the count of each symbol, shape (m,). At least one count is above 0.
        groups: the estimated shares, the mean, or both in this order.
        fraction: the assumed fraction of fabricated reports.
    """
    means = [group.about.scale.inner(group.figures.unbiased) for group in groups]
    reach = reach_of(extremes, np.concatenate(means), fraction)
    cuts = np.cumsum([mean.size for mean in means])[:-1]
    moves: list[Move] = []
    for group, *of_means in zip(groups, *(np.split(each, cuts) for each in reach), strict=True):
        of_figures = group.about.scale.moves(group.figures.unbiased, *of_means, group.ends or SHARES)
        distances = (each.tolist() for each in of_figures)
        moves += [
            Move(key.statistic, down, up, key.value) for key, down, up in zip(group.keys, *distances, strict=True)
        ]
    return Fakes(fraction=fraction, moves=tuple(moves), test=range_test(channel, counts))


def reach_of(extremes: Extremes, unbiased: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Return how far fabricated reports can have lowered and raised each estimate.

    ``unbiased`` are the estimates from all reports, and ``fraction`` is beta in the module's
    formula.
    """
    least, most = extremes
    odds = fraction / (1 - fraction)
    return odds * (unbiased - least), odds * (most - unbiased)


def as_far(law: ChannelLaw, inputs: int, counts: Counts, distance: float) -> NDArray[np.bool_]:
    """Return whether each tally is at least a given distance from the channel's range.

    The result has shape (tallies,). If the fit of a tally ends undecided, the tally counts as at
    least this far.

    Args:
        law: the probability of each symbol for each input.
        inputs: the number of inputs.
        counts: the count of each symbol, shape (tallies, symbols). All tallies have the same sum.
        distance: the distance, which is twice a log-likelihood ratio.
    """
    reports = int(counts[0].sum())
    seen, left = counts / reports, np.arange(len(counts))
    far = np.empty(len(counts), dtype=np.bool_)
    shares = np.full((len(counts), inputs), 1 / inputs)
    for _ in range(MAX_ACCELERATED):
        fitted = law.symbol_law(shares)
        rises = law.expectations(seen / fitted)
        most = 2 * reports * _log_ratio(seen, fitted)
        least = most - 2 * reports * (rises.max(axis=-1) - 1)
        far[left] = most >= distance
        is_open = (most >= distance) & (least < distance) & (most - least > 2 * SLACK * inputs)
        once = shares * rises
        if not is_open.all():
            left, seen, shares, once = left[is_open], seen[is_open], shares[is_open], once[is_open]
        if left.size == 0:
            break
        ahead = extrapolated(shares, once, stepped(law, seen, once, smooth=False))
        shares = stepped(law, seen, ahead, smooth=False)
    return far


def _log_ratio(seen: Floats, fitted: Floats) -> Floats:
    logs: Floats = np.log(np.where(seen > 0, seen / fitted, 1.0))
    ratio: Floats = (seen * logs).sum(axis=-1)
    return ratio
