"""The histograms fitted to tallies of one question.

Tallies of one question share the law of its mechanism. The same steps fit many of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from estimator.likelihood.expectation_maximization import AT_ONCE, shares_of
from estimator.likelihood.histogram import Histogram
from estimator.statistics.arrays import Counts, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The histograms of one tally.

    Attributes:
        smoothed: the shares of the bins, smoothed; shape (bins,).
        likeliest: the maximum-likelihood shares without smoothing; the iteration may have stopped
            early.

    """

    smoothed: Floats
    likeliest: Floats


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
    """Return the histograms of tallies with reports, shape (tallies, symbols)."""
    frequencies = counts / counts.sum(axis=-1, keepdims=True)
    smoothed, likeliest = (shares_of(histogram, frequencies, smooth=smooth) for smooth in (True, False))
    return [*map(Fit, smoothed, likeliest)]
