"""Which thresholds would bracket the median more closely in the next release."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from estimator.results.metric import MetricEstimate

REACH: Final = 3.9
"""How far the suggested thresholds around the median lie from it, in errors of a share: about 2 for
the interval, and as many for 99 windows in 100 to be sure of each. Measured on uniform and
exponential populations, no other distance gave shorter brackets."""

FARTHEST: Final = 0.45
"""The most by which a suggested threshold's share differs from a half."""

DIGITS: Final = 3
"""Suggested thresholds are round numbers."""


def suggested(estimated: MetricEstimate) -> tuple[float, ...]:
    """Return thresholds that would bracket the median more closely, of as many reports; or none.

    One lies on either side of the median, as near as its share can still be told from a half. The
    third lies beyond, toward the farther end of the range: where the one before is not sure, it
    ends the bracket. Answers are taken to be even between the thresholds of the report.
    """
    above, quantiles = estimated.group("share_above"), estimated.group("quantile")
    if above is None or quantiles is None or quantiles.ends is None or not above.figures.standard_errors.size:
        return ()
    low, high = quantiles.ends
    thresholds: list[Any] = list(above.figures.labels)
    edges, at_most = [low, *thresholds, high], [0.0, *(1 - above.figures.maximum_likelihood), 1.0]
    reach = min(FARTHEST / 3, REACH * float(above.figures.standard_errors.max()))
    median = float(np.interp(0.5, at_most, edges))
    guard = 3 * reach if high - median >= median - low else -3 * reach
    numbers = np.interp(np.array(sorted((-reach, reach, guard))) + 0.5, at_most, edges)
    rounded = dict.fromkeys(float(f"{number:.{DIGITS}g}") for number in numbers.tolist())
    return tuple(number for number in rounded if low < number <= high)
