"""The histograms fitted to tallies of one question, and to resampled tallies.

Tallies of one question share the law of its mechanism, so many of them are fitted by the same
steps.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
from threadpoolctl import threadpool_limits

from estimator.likelihood.bootstrap import drawn_anew
from estimator.likelihood.expectation_maximisation import AT_ONCE, shares_of
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Counts, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The histograms of one tally.

    Attributes:
        smoothed: the shares of the bins, smoothed; shape (bins,).
        likeliest: the maximum-likelihood shares without smoothing; the iteration may have stopped
            early.
        resampled: the smoothed shares of resampled tallies, shape (resamples, bins).

    """

    smoothed: Floats
    likeliest: Floats
    resampled: Floats


def fit_of(histogram: Histogram, counts: Counts) -> Fit | None:
    """Return the histograms of one tally. None without reports."""
    (fit,) = fits_of(histogram, [counts])
    return fit


def fits_of(histogram: Histogram, tallies: Iterable[Counts]) -> Iterator[Fit | None]:
    """Yield the histograms of each tally, or None for a tally without reports.

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        tallies: the count of each symbol, each of shape (symbols,).

    """
    left = iter(tallies)
    while batch := [*islice(left, AT_ONCE)]:
        with_reports = [counts for counts in batch if counts.any()]
        fits = iter(_together(histogram, np.array(with_reports)) if with_reports else ())
        yield from (next(fits) if counts.any() else None for counts in batch)


def _together(histogram: Histogram, counts: Counts) -> list[Fit]:
    """Return the histograms of tallies with reports, shape (tallies, symbols).

    Each thread uses one core. BLAS would start threads of its own in each for its small matrices,
    and take twice as long.
    """
    reports = counts.sum(axis=-1)
    frequencies = counts / reports[:, np.newaxis]
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
        smoothed, likeliest = (shares_of(histogram, frequencies, smooth=smooth) for smooth in (True, False))
        resampled = threads.map(partial(drawn_anew, histogram), smoothed, reports.tolist())
        return [*map(Fit, smoothed, likeliest, resampled)]
