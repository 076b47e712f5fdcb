"""Binomial laws of any size in floats, bounded from the side that each function names."""

from __future__ import annotations

import math

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
