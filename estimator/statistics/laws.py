"""Tails and quantiles of the binomial, chi-square and Student's laws, all from scipy.special.

scipy is imported where the first of them is needed: that takes 250 ms, as long as a whole report
of shares and means, which needs none of them.
"""

from __future__ import annotations

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
