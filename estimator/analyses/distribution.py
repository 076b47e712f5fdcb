"""The distribution of a number from a tally: a histogram, and the figures that follow from it.

Estimates come from the smoothed histogram. Intervals come from `estimator.distribution_intervals`:
they hold for every population, whatever the smoothing does to the estimate. An estimate outside its
interval is moved to the nearer end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from estimator.distribution_intervals.intervals import (
    band,
    band_places,
    quantile_intervals,
    shares_of_ranges,
    variance_interval,
)
from estimator.distribution_intervals.stretches import TallyStretches
from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.results.estimate import NO_LABEL, Figure, FigureLabel, Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.statistics.arrays import Counts, Floats

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)

Ends = tuple[float, float]


def distribution_of(  # noqa: PLR0913 what a distribution is made of
    histogram: Histogram,
    counts: Counts,
    fit: Fit | None,
    ranges: Sequence[Ends] = (),
    unit: str = "",
    *,
    simultaneous: bool = False,
) -> Iterator[FigureGroup]:
    """Yield the variance, quantiles, ranges, distribution function and histogram of a number.

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        counts: of each symbol, shape (symbols,).
        fit: the histograms fitted to the tally; None without reports.
        ranges: the ends of further ranges, on the scale of the domain.
        unit: of the number.
        simultaneous: whether all intervals are to hold together with 95 %.

    """
    ends = float(histogram.lows[0]), float(histogram.highs[-1])
    if fit is None:
        figures = _unknown(histogram, ends, ranges)
    else:
        tally = TallyStretches.of(histogram, counts, fit.smoothed)
        figures = _known(tally, fit, ranges, family_of(histogram, len(ranges)) if simultaneous else 1)
    squared = f"{unit}\N{SUPERSCRIPT TWO}" if unit else ""
    yield FigureGroup("variance", figures["variance"], squared, (0.0, (ends[1] - ends[0]) ** 2 / 4))
    yield FigureGroup("quantile", figures["quantile"], unit, ends)
    if ranges:
        yield FigureGroup("range", figures["range"], "", SHARES)
    yield FigureGroup("at_most", figures["at_most"], "", SHARES)
    yield FigureGroup("bin", figures["bin"], "", SHARES)


def _known(tally: TallyStretches, fit: Fit, ranges: Sequence[Ends], family: int) -> dict[str, Figures]:
    """Return the figures of a tally with reports, by statistic."""
    histogram = tally.stretches.histogram
    variance = Figure.within(variance_interval(tally, family), float(histogram.variance(fit.smoothed)))
    return {
        "variance": Figures.from_rows([variance]),
        "quantile": _quantiles(tally, fit, family),
        "range": Figures.from_rows(_ranges(tally, fit, ranges, family)),
        "at_most": _band(tally, fit, family),
        "bin": _bins(tally, fit, family),
    }


def _unknown(histogram: Histogram, ends: Ends, ranges: Sequence[Ends]) -> dict[str, Figures]:
    """Return the figures of a tally without reports: everything is possible."""
    points = histogram.points
    return {
        "variance": Figures.unknown([NO_LABEL], 0.0, (ends[1] - ends[0]) ** 2 / 4),
        "quantile": Figures.unknown(QUANTILES, *ends),
        "range": Figures.unknown(tuple(ranges)),
        "at_most": Figures.unknown(points[band_places(points.size)].tolist()),
        "bin": Figures.unknown(_pairs(histogram)),
    }


def family_of(histogram: Histogram, ranges: int) -> int:
    """Return the number of intervals: the mean's, the variance's, the whole band's, and more."""
    return 3 + len(QUANTILES) + histogram.bins + ranges


def mean_of(histogram: Histogram, fit: Fit | None) -> float | None:
    """Return the mean of the maximum-likelihood histogram. None without reports."""
    return None if fit is None else float(histogram.mean(fit.likeliest))


def _within(labels: Sequence[FigureLabel], estimates: Floats, ends: tuple[Floats, Floats], **more: Floats) -> Figures:
    """Return figures, with each estimate outside its interval moved to the nearer end."""
    lows, highs = ends
    return Figures(labels, lows, highs, np.clip(estimates, lows, highs), **more)


def _quantiles(tally: TallyStretches, fit: Fit, family: int) -> Figures:
    estimates = tally.stretches.histogram.quantiles(fit.smoothed, QUANTILES)
    lows, highs = np.array(quantile_intervals(tally, QUANTILES, family)).T
    return _within(QUANTILES, estimates, (lows, highs))


def _band(tally: TallyStretches, fit: Fit, family: int) -> Figures:
    points = tally.stretches.points
    places = band_places(points.size)
    estimates = tally.stretches.histogram.at_most(fit.smoothed, points[places])
    return _within(points[places].tolist(), estimates, band(tally, places, family))


def _bins(tally: TallyStretches, fit: Fit, family: int) -> Figures:
    histogram = tally.stretches.histogram
    firsts = np.arange(histogram.bins)
    ends = shares_of_ranges(tally, firsts, firsts + (not histogram.is_of_points), family)
    return _within(_pairs(histogram), fit.smoothed, ends, maximum_likelihood=fit.likeliest)


def _pairs(histogram: Histogram) -> list[Ends]:
    """Return the ends of each bin."""
    return list(zip(histogram.lows.tolist(), histogram.highs.tolist(), strict=True))


def _ranges(tally: TallyStretches, fit: Fit, ranges: Sequence[Ends], family: int) -> list[Figure]:
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
        figures.append(Figure.within((min(low, high), high), estimate, value=(start, end)))
    return figures


def _share(tally: TallyStretches, ends: tuple[int, int], family: int) -> Ends:
    """Return the limits of the share between two points. None is between those of wrong order."""
    first, last = max(0, ends[0]), min(tally.stretches.points.size - 1, ends[1])
    if last < first + (not tally.stretches.histogram.is_of_points):
        return 0.0, 0.0
    low, high = shares_of_ranges(tally, np.array([first]), np.array([last]), family)
    return float(low[0]), float(high[0])
