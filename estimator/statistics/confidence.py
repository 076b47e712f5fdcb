"""Tails and quantiles of distributions, corrected p-values, and the confidence of all intervals.

Among many comparisons, some show a difference by chance alone. P-values are therefore corrected for
the number of comparisons. Suppose that in some comparisons, the compared quantities are in truth
equal. With a probability of at least 95%, none of these comparisons then gets a corrected p-value
of 0.05 or less (Holm 1979, "A simple sequentially rejective multiple test procedure").

Tails and quantiles of the binomial, chi-square and Student's distributions come from scipy.special.
It is imported only on first use, because the import takes 250 ms. A whole report of shares and
means takes as long, and does not need scipy.
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
"""The largest p-value that counts as significant."""

EXACT_BELOW = 50
"""With fewer reports than this, an interval has at least its nominal confidence for every true
value. It is then wider than necessary for most true values.
"""

FEW = 20
"""Wilson's interval for a count may have to be widened if the count is at most this number (see the
module `intervals`). In checks of all numbers of reports n up to 2000, and of some n up to 10**9,
the largest count with a widened interval was 18, at n = 53.
"""

TAIL = (1 + CONFIDENCE) / 2

Z = NormalDist().inv_cdf(TAIL)

POWER = 0.8
"""Plans state the differences that are detected with this probability (Cohen 1988, "Statistical
power analysis for the behavioral sciences", 2.4).
"""

Z_OF_POWER = NormalDist().inv_cdf(POWER)

BISECTIONS: Final = 60
"""The number of halvings by which bisection finds a number in 0..1 to the last bit of a float."""

HINTED: Final = 10**7
"""The maximum number of reports for which `binomial_chance` starts from scipy's quantile."""

HINT_ERROR: Final = 2.0**-40
"""`binomial_chance` starts with an interval from this fraction below scipy's quantile to this
fraction above it.
"""


def bisected(holds: Callable[[float], bool], outside: float, inside: float) -> float:
    """Find, by bisection, the argument at which a condition becomes true.

    The condition is true for the returned argument, which is as near to ``outside`` as possible.

    Args:
        holds: the condition, which changes exactly once between ``outside`` and ``inside``.
        outside: an argument for which the condition is false.
        inside: an argument for which the condition is true.

    """
    for _ in range(BISECTIONS):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return inside


def tail_of(family: float) -> float:
    """Return the error probability of each end of an interval.

    With this error probability, ``family`` intervals are all right at the same time with 95%
    confidence (Bonferroni). For a single interval, it is 2.5%.
    """
    return (1 - CONFIDENCE) / (2 * family)


@lru_cache
def z_of(family: float) -> float:
    """Return the half-width, in standard errors, of ``family`` simultaneous normal intervals.

    For a single interval, it is 1.96.
    """
    return NormalDist().inv_cdf(1 - tail_of(family))


PAIR: Final = 2
"""The number of values of a question such as yes or no. Its two shares add up to 1 and change by
the same amount, so only one of them is compared.
"""


def holm(p_values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return corrected p-values, by Holm's method with weights (section 4 of Holm 1979).

    They are in the order of the given p-values.

    Args:
        p_values: the p-values, from 0 to 1.
        weights: the weight of each p-value, above 0. A p-value with a larger weight is corrected
            less.

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
    """Return, for each count, the probability of at least this many successes in n trials.

    Args:
        counts: the counts, each from 0 to ``reports``.
        reports: n, the number of trials.
        chance: the probability of success in a single trial.

    """
    successes = np.maximum(counts, 1)
    # scipy's bdtrc would treat the number of reports as a 32-bit integer
    return np.where(counts == 0, 1.0, _scipy_special().betainc(successes, reports - successes + 1, chance))


def binomial_chance(counts: Counts, reports: Reports, tail: float) -> Floats:
    """Return, for each count, the success probability for which `binomial_tail` is ``tail``.

    The results are quantiles of beta distributions. Bisection finds them to the last bit, and
    rounds them down. scipy's betaincinv would be faster, but is wrong for some counts of 10**8 or
    more reports, and slow for numbers of reports near 2**53. For example, for 1,000 of 10**9
    reports and a tail of 0.025, scipy 1.17.1 returns a probability whose tail is 1. With few
    reports, its result only determines where the bisection starts.

    Args:
        counts: the counts, each from 0 to ``reports``.
        reports: n, the number of trials, at least 1.
        tail: the probability of the tail, above 0 and at most 0.5.

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
        values: the values, each at least 0.
        degrees: the degrees of freedom, at least 1.

    """
    tail: Floats = _scipy_special().chdtrc(degrees, values)
    return tail


def student_of(family: int, degrees: int) -> float:
    """Return the half-width of intervals, in standard errors, for Student's t distribution.

    `z_of` does the same for the normal distribution.

    Args:
        family: the number of intervals that must be valid simultaneously, with 95% confidence.
        degrees: the degrees of freedom, at least 1.

    """
    return -float(_scipy_special().stdtrit(degrees, tail_of(family)))


def _scipy_special() -> Any:  # noqa: ANN401 scipy carries no types
    from scipy import special  # noqa: PLC0415 250 ms, see the module

    return special


def trials_interval(successes: int, probability: float, miss: float) -> tuple[int, int]:
    """Return a confidence interval for the number of trials, given the number of successes.

    For instance, how many devices may exist if each reports with probability 0.4, and 2,000 have
    reported? The ends follow from exact binomial tails, like the ends of Clopper & Pearson's
    interval (1934) for a probability. Each end is wrong with a probability of at most ``miss``.

    Args:
        successes: the number of successes.
        probability: the probability of success in a single trial, above 0 and at most 1.
        miss: the error probability of each end, above 0.

    """
    if probability == 1:
        return successes, successes
    from scipy.special import betainc  # noqa: PLC0415 the import takes 250 ms, and few reports need it

    def at_least(least: int, trials: int) -> float:
        """Return the probability of at least ``least`` successes in a number of trials."""
        return 1.0 if least <= 0 else float(betainc(least, trials - least + 1, probability)) if trials >= least else 0.0

    # `at_least` grows with the number of trials, so each condition is true from some number on
    low = _first(lambda trials: at_least(successes, trials) > miss, successes)
    return low, _first(lambda trials: 1 - at_least(successes + 1, trials) <= miss, low) - 1


def _first(holds: Callable[[int], bool], least: int) -> int:
    """Return the smallest number from ``least`` on for which a condition is true.

    The condition must also be true for all larger numbers.
    """
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
