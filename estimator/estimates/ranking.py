"""How well a scale ranks yes above no: the area under the curve (AUC), from the shares of pairs.

With f(i, yes) and f(i, no) the shares of pairs, AUC is the sum of f(i, yes) f(j, no) over all steps i above j,
and half of that over i = j, in relation to f(yes) f(no). Numerator and denominator are quadratic in the
estimates. Each exceeds its true value by a covariance on average, which is subtracted. A ratio a is within the
interval if numerator - a * denominator is within z standard errors of 0, and every one is if nobody may say yes, or
no (Fieller 1954).
"""

from __future__ import annotations

import math

import numpy as np

from estimator.results.estimate import Estimate
from estimator.statistics.arrays import Floats


def auc_of_pairs(shares: Floats, covariance: Floats, z: float) -> Estimate:
    """Return how often a random yes is at a higher step than a random no; half of the ties count.

    Args:
        shares: of the pairs, unbiased, with steps rising and no before yes, shape (2 steps,).
        covariance: of the shares, shape (2 steps, 2 steps).
        z: half-width of a normal interval, in standard errors. Infinite with too few reports.

    """
    if not math.isfinite(z):
        return Estimate(None, None, 0.0, 1.0)
    steps = len(shares) // 2
    order = np.sign(np.subtract.outer(np.arange(steps), np.arange(steps)))
    above, all_pairs = _form((1 + order) / 2), _form(np.ones((steps, steps)))
    numerator, denominator = (float(shares @ each @ shares - np.sum(each * covariance)) for each in (above, all_pairs))
    slopes = 2 * np.array([above @ shares, all_pairs @ shares])
    (of_numerator, of_both), (_, of_denominator) = (z**2 * slopes @ covariance @ slopes.T).tolist()
    square = denominator**2 - of_denominator
    if square <= 0 or denominator <= 0:
        return Estimate(None, None, 0.0, 1.0)
    middle = (numerator * denominator - of_both) / square
    reach = math.sqrt(max(0.0, middle**2 - (numerator**2 - of_numerator) / square))
    estimate, low, high = (
        min(max(each, 0.0), 1.0) for each in (numerator / denominator, middle - reach, middle + reach)
    )
    slope = slopes[0] - estimate * slopes[1]
    return Estimate(estimate, float(np.sqrt(slope @ covariance @ slope)) / denominator, low, high)


def _form(weights: Floats) -> Floats:
    """Return the symmetric matrix M of the form s M s, the sum of weights[i, j] f(i, yes) f(j, no)."""
    form = np.zeros((2 * len(weights), 2 * len(weights)))
    form[1::2, ::2] = weights
    return (form + form.T) / 2
