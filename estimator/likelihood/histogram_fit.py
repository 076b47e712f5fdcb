"""The histograms that fit tallies of one question, and those of tallies drawn anew: all that is said follows from them.

Tallies of one question share the law of its mechanism, so that many of them are fitted by the same steps.
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
        likeliest: the same, likeliest without smoothing (or stopped on the way there).
        again: the smoothed shares of tallies drawn anew, shape (resamples, bins).

    """

    smoothed: Floats
    likeliest: Floats
    again: Floats


def fit_of(histogram: Histogram, counts: Counts) -> Fit | None:
    """Return the histograms of one tally; none without reports."""
    (fit,) = fits_of(histogram, [counts])
    return fit


def fits_of(histogram: Histogram, tallies: Iterable[Counts]) -> Iterator[Fit | None]:
    """Yield the histograms of each tally; none of one without reports.

    Args:
        histogram: its bins, and the law of the mechanism given them.
        tallies: the count of each symbol, each of shape (symbols,).

    """
    left = iter(tallies)
    while some := [*islice(left, AT_ONCE)]:
        told = [counts for counts in some if counts.any()]
        fits = iter(_together(histogram, np.array(told)) if told else ())
        yield from (next(fits) if counts.any() else None for counts in some)


def _together(histogram: Histogram, counts: Counts) -> list[Fit]:
    """Return the histograms of tallies with reports, shape (tallies, symbols).

    Each thread is one core's work: BLAS, which would start threads of its own in each for its small matrices, would
    take twice as long.
    """
    reports = counts.sum(axis=-1)
    frequencies = counts / reports[:, np.newaxis]
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
        smoothed, likeliest = (shares_of(histogram, frequencies, smooth=smooth) for smooth in (True, False))
        again = threads.map(partial(drawn_anew, histogram), smoothed, reports.tolist())
        return [*map(Fit, smoothed, likeliest, again)]
