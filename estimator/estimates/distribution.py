"""The distribution of a number from a tally: a histogram, and the figures that follow from it.

Estimates come from the smoothed histogram. Intervals come from `estimator.distribution_intervals`:
they hold for every population, whatever the smoothing does to the estimate. An estimate outside its
interval is moved to the nearer end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from estimator.distribution_intervals.band import band, band_places
from estimator.distribution_intervals.moments import variance_interval
from estimator.distribution_intervals.quantiles import quantile_intervals
from estimator.distribution_intervals.ranges import shares_of_ranges
from estimator.distribution_intervals.stretches import TallyStretches
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.results.distribution import AtMost, Bin, Distribution, Figure, Quantile, Range
from estimator.statistics.arrays import Counts, Floats

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)

Ends = tuple[float, float]


def distribution_of(
    histogram: Histogram, counts: Counts, fit: Fit | None, ranges: Sequence[Ends] = (), *, simultaneous: bool = False
) -> Distribution:
    """Return the distribution of a number.

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        counts: of each symbol, shape (symbols,).
        fit: the histograms fitted to the tally; None without reports.
        ranges: the ends of further ranges, on the scale of the domain.
        simultaneous: whether all intervals are to hold together with 95 %.

    """
    if fit is None:
        return _unknown(histogram, ranges)
    tally = TallyStretches.of(histogram, counts, fit.smoothed)
    family = family_of(histogram, len(ranges)) if simultaneous else 1
    return Distribution(
        variance=Figure.within(variance_interval(tally, family), float(histogram.variance(fit.smoothed))),
        quantiles=_quantiles(tally, fit, family),
        band=_band(tally, fit, family),
        bins=_bins(tally, fit, family),
        ranges=_ranges(tally, fit, ranges, family),
    )


def family_of(histogram: Histogram, ranges: int) -> int:
    """Return the number of intervals: the mean's, the variance's, the whole band's, and more."""
    return 3 + len(QUANTILES) + histogram.bins + ranges


def mean_of(histogram: Histogram, fit: Fit | None) -> float | None:
    """Return the mean of the maximum-likelihood histogram. None without reports."""
    return None if fit is None else float(histogram.mean(fit.likeliest))


def _quantiles(tally: TallyStretches, fit: Fit, family: int) -> tuple[Quantile, ...]:
    estimates = tally.stretches.histogram.quantiles(fit.smoothed, QUANTILES).tolist()
    intervals = quantile_intervals(tally, QUANTILES, family)
    return tuple(
        Quantile.within(interval, estimate, quantile=probability)
        for estimate, interval, probability in zip(estimates, intervals, QUANTILES, strict=True)
    )


def _band(tally: TallyStretches, fit: Fit, family: int) -> tuple[AtMost, ...]:
    points = tally.stretches.points
    places = band_places(points.size)
    estimates = tally.stretches.histogram.at_most(fit.smoothed, points[places])
    lows, highs = band(tally, places, family)
    return tuple(
        AtMost.within((low, high), estimate, at=at)
        for estimate, low, high, at in _columns(estimates, lows, highs, points[places])
    )


def _bins(tally: TallyStretches, fit: Fit, family: int) -> tuple[Bin, ...]:
    histogram = tally.stretches.histogram
    firsts = np.arange(histogram.bins)
    lows, highs = shares_of_ranges(tally, firsts, firsts + (not histogram.is_of_points), family)
    columns = _columns(fit.smoothed, lows, highs, histogram.lows, histogram.highs, fit.likeliest)
    return tuple(
        Bin.within((low, high), estimate, start=start, end=end, maximum_likelihood=likeliest)
        for estimate, low, high, start, end, likeliest in columns
    )


def _ranges(tally: TallyStretches, fit: Fit, ranges: Sequence[Ends], family: int) -> tuple[Range, ...]:
    """Return the shares of ranges: at most that of the points around, at least of those within."""
    histogram, points = tally.stretches.histogram, tally.stretches.points
    figures = []
    for start, end in ranges:
        within = int(np.searchsorted(points, start)), int(np.searchsorted(points, end, side="right")) - 1
        around = within
        if not histogram.is_of_points:
            first = min(int(np.searchsorted(points, start, side="right")) - 1, points.size - 2)
            around = first, max(first + 1, int(np.searchsorted(points, end)))
        _, high = _share(tally, around, family)
        low, _ = _share(tally, within, family)
        estimate = float(histogram.share_between(fit.smoothed, start, end))
        figures.append(Range.within((min(low, high), high), estimate, start=start, end=end))
    return tuple(figures)


def _share(tally: TallyStretches, ends: tuple[int, int], family: int) -> Ends:
    """Return the limits of the share between two points. None is between those of wrong order."""
    first, last = max(0, ends[0]), min(tally.stretches.points.size - 1, ends[1])
    if last < first + (not tally.stretches.histogram.is_of_points):
        return 0.0, 0.0
    low, high = shares_of_ranges(tally, np.array([first]), np.array([last]), family)
    return float(low[0]), float(high[0])


def _columns(*columns: Floats) -> Iterable[tuple[float, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _unknown(histogram: Histogram, ranges: Sequence[Ends]) -> Distribution:
    """Return the distribution of a tally without reports: everything is possible."""
    low, high = float(histogram.lows[0]), float(histogram.highs[-1])
    points = histogram.points
    return Distribution(
        variance=Figure(None, 0.0, (high - low) ** 2 / 4),
        quantiles=tuple(Quantile(None, low, high, quantile=probability) for probability in QUANTILES),
        band=tuple(AtMost(None, 0.0, 1.0, at=at) for at in points[band_places(points.size)].tolist()),
        bins=tuple(
            Bin(None, 0.0, 1.0, start=start, end=end) for start, end in _columns(histogram.lows, histogram.highs)
        ),
        ranges=tuple(Range(None, 0.0, 1.0, start=start, end=end) for start, end in ranges),
    )
