"""The mean of a number from a tally: unbiased, with an interval that is safe where reports are few."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimator.intervals import CONFIDENCE, EXACT_BELOW, Z
from estimator.inverse.decoder import Decoder
from estimator.tallies import Counts


class Mean(NamedTuple):
    """An unbiased mean, its standard error, and its interval within 0..1."""

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float


def mean_of(decoder: Decoder, counts: Counts, reports: int) -> Mean:
    """Return the mean on the decoder's scale, of people sampled at random.

    * From 50 reports on the interval is the normal one. Its variance is that of the answers that were observed, but
      never less than the least that the mechanism has at the estimated mean: at a large epsilon the few reports from
      outside the band carry most of the variance, and there may be none among them.
    * Fewer reports get Hoeffding's interval (Hoeffding 1963, theorem 2), which holds at every truth.

    Args:
        decoder: what a symbol speaks for.
        counts: the count of each symbol.
        reports: n, their sum; with 0 everything is possible.

    """
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    shares = counts / reports
    mean = float(shares @ decoder.answers)
    possible = min(1.0, max(0.0, mean))
    observed = float(shares @ (decoder.answers - mean) ** 2) * reports / max(1, reports - 1)
    error = math.sqrt(max(observed, decoder.least_variance(possible)) / reports)
    half_width = Z * error
    if reports < EXACT_BELOW:
        half_width = float(np.ptp(decoder.answers)) * math.sqrt(math.log(2 / (1 - CONFIDENCE)) / (2 * reports))
    low, high = (min(1.0, max(0.0, end)) for end in (mean - half_width, mean + half_width))
    return Mean(mean, error, low, high)
