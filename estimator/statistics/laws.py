"""Tails and quantiles of the binomial, chi-square and Student's laws, all from scipy.special.

scipy is imported where the first of them is needed: that takes 250 ms, as long as a whole report
of shares and means, which needs none of them.

`trials_interval` bounds the number of independent trials from how many of them succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats, Reports
from estimator.statistics.confidence import BISECTIONS, tail_of


def binomial_tail(counts: Counts | int, reports: Reports, chance: Floats | float) -> Floats:
    """Return the probability of at least each count of successes.

    Args:
        counts: each from 0 to ``reports``.
        reports: n.
        chance: of each success.

    """
    successes = np.maximum(counts, 1)
    # bdtrc would take the number of reports for 32 bits
    return np.where(counts == 0, 1.0, _scipy_special().betainc(successes, reports - successes + 1, chance))


def binomial_chance(counts: Counts, reports: Reports, tail: float) -> Floats:
    """Return the chances at which each count, or a larger one, has the probability of a tail.

    They are quantiles of beta laws, found by halving, to the last bit and never above the true
    ones: scipy's betaincinv is wrong for some counts from 10**8 reports on (scipy 1.17.1 has for
    1,000 of 10**9 and a tail of 0.025 a chance at which it is 1), and takes milliseconds near
    2**53.

    Args:
        counts: each from 0 to ``reports``.
        reports: n, at least 1.
        tail: above 0, at most 0.5.

    """
    below, above = np.zeros(np.shape(counts)), counts / reports
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        is_below = binomial_tail(counts, reports, middle) < tail
        below, above = np.where(is_below, middle, below), np.where(is_below, above, middle)
    return below


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
        family: the number of intervals that are to hold together.
        degrees: of freedom, at least 1.

    """
    return -float(_scipy_special().stdtrit(degrees, tail_of(family)))


def _scipy_special() -> Any:  # noqa: ANN401 scipy carries no types
    from scipy import special  # noqa: PLC0415 250 ms, as the module says

    return special


def trials_interval(successes: int, probability: float, miss: float) -> tuple[int, int]:
    """Return the least and the greatest number of trials that make the successes not too unlikely.

    The interval inverts exact binomial tails, as that of Clopper & Pearson 1934 does for the
    probability: each end misses the truth with at most the probability ``miss``.

    Args:
        successes: their number.
        probability: of one success, above 0 and at most 1.
        miss: the probability of missing to one side, above 0.

    """
    if probability == 1:
        return successes, successes
    from scipy.special import betainc  # noqa: PLC0415 its import takes 250 ms, and few reports need it

    def at_least(least: int, trials: int) -> float:
        """Return the probability of at least so many successes."""
        return 1.0 if least <= 0 else float(betainc(least, trials - least + 1, probability)) if trials >= least else 0.0

    # the tails are monotone in the number of trials
    low = _first(lambda trials: at_least(successes, trials) > miss, successes)
    return low, _first(lambda trials: 1 - at_least(successes + 1, trials) <= miss, low) - 1


def _first(holds: Callable[[int], bool], least: int) -> int:
    """Return the first number from ``least`` on at which a monotone condition holds."""
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
