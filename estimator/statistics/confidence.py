"""The confidence of every interval, its normal quantiles, and p-values corrected for their number.

Among many comparisons, some differ by chance alone. If each single p-value is valid, the
probability that any equal pair has a corrected value of 0.05 or less is at most 5% (Holm 1979, "A
simple sequentially rejective multiple test procedure").

Tails and quantiles of the binomial, chi-square and Student's laws are all from scipy.special. scipy
is imported only when the first of them is needed: the import takes 250 ms, as long as a whole
report of shares and means, which needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats, Reports

CONFIDENCE = 0.95

SIGNIFICANT: Final = 1 - CONFIDENCE
"""A p-value up to this counts as significant."""

EXACT_BELOW = 50
"""Below this number of reports an interval must guarantee its confidence for every true value, and
is wider than necessary.
"""

FEW = 20
"""Counts whose bounds may need moving. The largest is 18, at n = 53 (n up to 2000, then a ladder to
10**9).
"""

TAIL = (1 + CONFIDENCE) / 2

Z = NormalDist().inv_cdf(TAIL)

POWER = 0.8
"""The probability of detecting a planned effect: Cohen 1988, "Statistical power analysis for the
behavioral sciences", 2.4.
"""

Z_OF_POWER = NormalDist().inv_cdf(POWER)

BISECTIONS: Final = 60
"""Halvings that reduce an interval within 0..1 to the last bit of a float."""

HINTED: Final = 10**7
"""Up to this number of reports, the search starts at scipy's quantile."""

HINT_ERROR: Final = 2.0**-40
"""The relative distance from that quantile at which the search starts."""


def bisected(holds: Callable[[float], bool], outside: float, inside: float) -> float:
    """Return the end of the arguments for which a condition holds, found by bisection.

    Args:
        holds: the condition. It changes once between ``outside`` and ``inside``.
        outside: an argument for which it does not hold.
        inside: an argument for which it holds. The result is the farthest from it.

    """
    for _ in range(BISECTIONS):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return inside


def tail_of(family: float) -> float:
    """Return the error probability of one side, for a simultaneous family (Bonferroni)."""
    return (1 - CONFIDENCE) / (2 * family)


@lru_cache
def z_of(family: float) -> float:
    """Return the half-width of a normal interval in standard errors, for a simultaneous family."""
    return NormalDist().inv_cdf(1 - tail_of(family))


PAIR: Final = 2
"""Two values whose shares add up to 1 differ by the same amount, so they are compared once."""


def holm(p_values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return corrected p-values in the order given, with weights as in section 4.

    Args:
        p_values: from 0 to 1.
        weights: above 0; the relative part of the error allotted to each.

    """
    order = sorted(range(len(p_values)), key=lambda position: p_values[position] / weights[position])
    left = [*accumulate(weights[position] for position in reversed(order))][::-1]
    corrected = [0.0] * len(p_values)
    least = 0.0
    for place, weight in zip(order, left, strict=True):
        least = max(least, min(1.0, weight * p_values[place] / weights[place]))
        corrected[place] = least
    return corrected


def binomial_tail(counts: Counts | int, reports: Reports, chance: Floats | float) -> Floats:
    """Return the probability of at least each count of successes.

    Args:
        counts: each from 0 to ``reports``.
        reports: n.
        chance: the chance of each success.

    """
    successes = np.maximum(counts, 1)
    # bdtrc would treat the number of reports as a 32-bit integer
    return np.where(counts == 0, 1.0, _scipy_special().betainc(successes, reports - successes + 1, chance))


def binomial_chance(counts: Counts, reports: Reports, tail: float) -> Floats:
    """Return, for each count, the chance at which at least that count has probability ``tail``.

    They are quantiles of beta laws, found by bisection, to the last bit and never above the true
    ones. scipy's betaincinv only sets where the search starts: it is wrong for some counts from
    10**8 reports on (scipy 1.17.1 has for 1,000 of 10**9 and a tail of 0.025 a chance at which it
    is 1), and takes milliseconds near 2**53.

    Args:
        counts: each from 0 to ``reports``.
        reports: n, at least 1.
        tail: above 0, at most 0.5.

    """
    below, above = np.zeros(np.shape(counts)), counts / reports
    successes = np.maximum(counts, 1)
    if np.max(reports) <= HINTED:
        hint = _scipy_special().betaincinv(successes, reports - successes + 1, tail)
        for end in (hint * (1 - HINT_ERROR), hint * (1 + HINT_ERROR)):
            within = np.clip(end, below, above)
            is_below = binomial_tail(counts, reports, within) < tail
            below, above = np.where(is_below, within, below), np.where(is_below, above, within)
    while True:
        middle = (below + above) / 2
        if np.all((middle <= below) | (middle >= above)):
            return below
        is_below = binomial_tail(counts, reports, middle) < tail
        below, above = np.where(is_below, middle, below), np.where(is_below, above, middle)


def chi_square_tail(values: Floats | float, degrees: NDArray[np.int64] | int) -> Floats:
    """Return the probability that a chi-square variable exceeds each value.

    Args:
        values: each at least 0.
        degrees: of freedom, at least 1.

    """
    tail: Floats = _scipy_special().chdtrc(degrees, values)
    return tail


def student_of(family: int, degrees: int) -> float:
    """Return the half-width of an interval by Student's t in standard errors, as `z_of` does.

    Args:
        family: the number of intervals that must be valid simultaneously.
        degrees: of freedom, at least 1.

    """
    return -float(_scipy_special().stdtrit(degrees, tail_of(family)))


def _scipy_special() -> Any:  # noqa: ANN401 scipy carries no types
    from scipy import special  # noqa: PLC0415 250 ms, see the module

    return special


def trials_interval(successes: int, probability: float, miss: float) -> tuple[int, int]:
    """Return the smallest and largest number of trials that make the successes not too unlikely.

    The interval inverts exact binomial tails, as that of Clopper & Pearson 1934 does for the
    probability: each end misses the true value with at most the probability ``miss``.

    Args:
        successes: the number of successes.
        probability: the probability of one success, above 0 and at most 1.
        miss: the probability of missing to one side, above 0.

    """
    if probability == 1:
        return successes, successes
    from scipy.special import betainc  # noqa: PLC0415 the import takes 250 ms, and few reports need it

    def at_least(least: int, trials: int) -> float:
        """Return the probability of at least this number of successes."""
        return 1.0 if least <= 0 else float(betainc(least, trials - least + 1, probability)) if trials >= least else 0.0

    # the tails are monotone in the number of trials
    low = _first(lambda trials: at_least(successes, trials) > miss, successes)
    return low, _first(lambda trials: 1 - at_least(successes + 1, trials) <= miss, low) - 1


def _first(holds: Callable[[int], bool], least: int) -> int:
    """Return the first number from ``least`` on for which a monotone condition is true."""
    step = 1
    while not holds(least + step - 1):
        step *= 2
    below, above = least - 1, least + step - 1
    while above - below > 1:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle
    return above
