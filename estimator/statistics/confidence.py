"""Tails and quantiles of distributions, corrected p-values, and the confidence of intervals.

Among many comparisons, some show a difference by chance alone. Holm's correction limits such errors
to 5%: with a probability of at least 95%, no comparison of equal quantities has a corrected p-value
of 0.05 or less (Holm 1979, "A simple sequentially rejective multiple test procedure").

Tails and quantiles come from scipy.special. The import takes 250 ms, so scipy is imported only on
first use. A whole report of shares and means takes about the same time and does not need scipy.
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
"""With fewer reports than this number, an interval has at least its nominal confidence for every
true value. The interval is then wider than necessary for most true values.
"""

FEW = 20
"""Wilson intervals of counts up to this number may have to be widened (see the module `intervals`).
All numbers of reports n up to 2000, and some up to 10**9, were checked. The largest count with a
widened interval was 18, at n = 53.
"""

TAIL = (1 + CONFIDENCE) / 2

Z = NormalDist().inv_cdf(TAIL)

POWER = 0.8
"""A plan states the smallest effects that are detected with this probability (Cohen 1988,
"Statistical power analysis for the behavioral sciences", 2.4).
"""

Z_OF_POWER = NormalDist().inv_cdf(POWER)

BISECTIONS: Final = 60
"""The number of halvings that find a number in 0..1 to the last bit of a float."""

HINTED: Final = 10**7
"""Up to this number of reports, `binomial_chance` starts from scipy's quantile."""

HINT_ERROR: Final = 2.0**-40
"""The bisection of `binomial_chance` starts at this relative distance below and above scipy's
quantile.
"""


def bisected(holds: Callable[[float], bool], outside: float, inside: float) -> float:
    """Find by bisection the argument at which a condition becomes true.

    The condition ``holds`` is false at ``outside`` and true at ``inside``, and changes exactly once
    between them. The condition is true at the returned argument, which is as near to ``outside`` as
    possible.
    """
    for _ in range(BISECTIONS):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return inside


def tail_of(family: float) -> float:
    """Return the error probability of each end of an interval: 2.5% for a single interval.

    ``family`` intervals with this error probability at each end are simultaneously valid with 95%
    confidence (Bonferroni).
    """
    return (1 - CONFIDENCE) / (2 * family)


@lru_cache
def z_of(family: float) -> float:
    """Return the half-width of each simultaneous normal interval, in standard errors.

    ``family`` is the number of intervals. For a single interval, the half-width is 1.96.
    """
    return NormalDist().inv_cdf(1 - tail_of(family))


PAIR: Final = 2
"""The number of values of a metric with exactly two values, such as a boolean metric. The shares of
the two values add up to 1 and change by the same amount, so only one share is compared.
"""


def holm(p_values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Correct p-values by Holm's weighted method (1979, section 4), and keep their order.

    Weights must be above 0. The larger the weight, the smaller the correction.
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
    """Return, for each count, the probability of that many successes or more.

    ``reports`` is the number of trials, and ``chance`` the success probability of one trial.
    """
    successes = np.maximum(counts, 1)
    # scipy's bdtrc would treat the number of reports as a 32-bit integer
    return np.where(counts == 0, 1.0, _scipy_special().betainc(successes, reports - successes + 1, chance))


def binomial_chance(counts: Counts, reports: Reports, tail: float) -> Floats:
    """Return, for each count, the success probability at which `binomial_tail` is ``tail``.

    ``reports`` must be at least 1. ``tail`` must be above 0, and may not exceed 0.5. The results
    are quantiles of beta distributions. Bisection finds the results to the last bit and rounds
    down.

    scipy's betaincinv is faster, but wrong for some counts of 10**8 or more reports, and slow near
    2**53 reports. For example, given a count of 1,000 in 10**9 reports and a tail of 0.025, scipy
    1.17.1 returns a probability whose `binomial_tail` is 1. With few reports, the bisection starts
    from scipy's result.
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
    """Return, for each value, the probability that a chi-square variable exceeds this value.

    All values must be at least 0.
    """
    tail: Floats = _scipy_special().chdtrc(degrees, values)
    return tail


def student_of(family: int, degrees: int) -> float:
    """Return the half-width of intervals, in standard errors, for Student's t distribution.

    ``family`` intervals are simultaneously valid with 95% confidence.
    """
    return -float(_scipy_special().stdtrit(degrees, tail_of(family)))


def _scipy_special() -> Any:  # noqa: ANN401 scipy carries no types
    from scipy import special  # noqa: PLC0415 250 ms, see the module

    return special


def trials_interval(successes: int, probability: float, miss: float) -> tuple[int, int]:
    """Return a confidence interval for the number of trials, given the number of successes.

    For example, suppose that 2,000 devices have reported, and that each device reports with
    probability 0.4. The interval is then for the number of all devices, including devices that have
    not reported. The ends of the interval follow from exact binomial tails (as in Clopper & Pearson
    1934). Each end is wrong with a probability of at most ``miss``.
    """
    if probability == 1:
        return successes, successes
    from scipy.special import betainc  # noqa: PLC0415 the import takes 250 ms, and few reports need it

    def at_least(least: int, trials: int) -> float:
        """Return the probability of at least ``least`` successes."""
        return 1.0 if least <= 0 else float(betainc(least, trials - least + 1, probability)) if trials >= least else 0.0

    # `at_least` grows with the number of trials, so each condition is true from some number on
    low = _first(lambda trials: at_least(successes, trials) > miss, successes)
    return low, _first(lambda trials: 1 - at_least(successes + 1, trials) <= miss, low) - 1


def _first(holds: Callable[[int], bool], least: int) -> int:
    """Return the smallest number, ``least`` or larger, that meets a condition.

    All larger numbers must also meet the condition.
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
