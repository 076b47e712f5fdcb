"""The distribution of a number from a tally: a histogram and figures derived from it.

The intervals come from resampling and are labelled so, because no theorem supports their coverage.
Tallies are drawn from the fitted law, so that they show both the noise and the bias of smoothing.
An interval extends to both sides by the larger of the two distances of the resampled figures
(Davison & Hinkley 1997, "Bootstrap methods and their application", section 5.2, has the one-sided
forms). For simultaneous intervals of a histogram, each extends by the same multiple of its own
spread: the smallest multiple for which 95 % of the resampled tallies stay within all of them (the
largest |t|; Davison & Hinkley 1997, section 4.2.4).

Measured on Beta(2, 5), 100,000 reports, 60 tallies: at epsilon .5, 1 and 4 an interval of 95 % held
the variance in .98, .97 and .97, a bin's share in .92, .95 and .98, and the quantiles from .25 to
.95 in at least .91 of the tallies. The quantile .05, where the density bends most, was held in only
.32, .68 and .97. Simultaneous intervals held all 256 bins, and all figures, in .15, .33 and .78 of
the tallies instead of .95: they, too, know only the fitted law.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.results.distribution import Bin, Distribution, Quantile, Resampled
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import CONFIDENCE, TAIL

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def distribution_of(histogram: Histogram, fit: Fit | None, *, simultaneous: bool = False) -> Distribution:
    """Return the distribution of a number.

    Args:
        histogram: its bins, and the law of the mechanism given each bin.
        fit: the histograms fitted to the tally and to its resamples; None without reports.
        simultaneous: whether all intervals are to hold together.

    """
    if fit is None:
        return _unknown(histogram)
    figures, resampled = _figures(histogram, fit.smoothed), _figures(histogram, fit.resampled)
    reach = _reach_together(figures, resampled) if simultaneous else _reach(figures, resampled)
    ends = zip(*(column.tolist() for column in _ends(histogram, figures, reach)), strict=True)
    return _distribution(histogram, [*ends], fit.likeliest.tolist())


def mean_of(histogram: Histogram, fit: Fit | None) -> float | None:
    """Return the mean of the maximum-likelihood histogram. None without reports."""
    return None if fit is None else float(histogram.mean(fit.likeliest))


def _distribution(
    histogram: Histogram,
    figures: Sequence[tuple[float | None, float, float]],
    maximum_likelihood: Sequence[float | None],
) -> Distribution:
    """Return a distribution from its figures, in order: bins, variance, quantiles."""
    of_bins, variance, of_quantiles = figures[: histogram.bins], figures[histogram.bins], figures[histogram.bins + 1 :]
    lows, highs = histogram.lows.tolist(), histogram.highs.tolist()
    return Distribution(
        variance=Resampled(*variance),
        quantiles=tuple(
            Quantile(*quantile, quantile=probability)
            for probability, quantile in zip(QUANTILES, of_quantiles, strict=True)
        ),
        bins=tuple(
            Bin(*share, start=low, end=high, maximum_likelihood=likeliest)
            for share, low, high, likeliest in zip(of_bins, lows, highs, maximum_likelihood, strict=True)
        ),
    )


def _figures(histogram: Histogram, shares: Floats) -> Floats:
    """Return all figures of a histogram: shares, variance, quantiles; shape (..., figures)."""
    variance = histogram.variance(shares)[..., np.newaxis]
    return np.concatenate([shares, variance, histogram.quantiles(shares, QUANTILES)], axis=-1)


def _reach(figures: Floats, resampled: Floats) -> Floats:
    """Return the reach of each interval: shapes (figures,), (resamples, figures) to (figures,)."""
    lows, highs = np.quantile(resampled, [1 - TAIL, TAIL], axis=0)
    reach: Floats = np.maximum(highs - figures, figures - lows)
    return reach


def _reach_together(figures: Floats, resampled: Floats) -> Floats:
    """Return the reach of each interval with which all of them hold together."""
    strays = np.abs(resampled - figures)
    spread = np.sqrt((strays**2).mean(axis=0))
    multiples = (strays / np.maximum(spread, np.finfo(float).tiny)).max(axis=1)
    reach: Floats = np.quantile(multiples, CONFIDENCE) * spread
    return reach


def _ends(histogram: Histogram, figures: Floats, reach: Floats) -> tuple[Floats, Floats, Floats]:
    """Return figures with the ends of their intervals, clipped to the possible values."""
    least, most = _possible(histogram)
    known = np.clip(figures, least, most)  # rounding could leave the range
    return known, np.clip(figures - reach, least, known), np.clip(figures + reach, known, most)


def _possible(histogram: Histogram) -> tuple[Floats, Floats]:
    """Return the least and the greatest possible value of each figure."""
    bins, quantiles = histogram.bins, len(QUANTILES)
    low, high = histogram.lows[0], histogram.highs[-1]
    least = np.concatenate([np.zeros(bins + 1), np.full(quantiles, low)])
    return least, np.concatenate([np.ones(bins), [(high - low) ** 2 / 4], np.full(quantiles, high)])


def _unknown(histogram: Histogram) -> Distribution:
    least, most = (ends.tolist() for ends in _possible(histogram))
    figures = [(None, low, high) for low, high in zip(least, most, strict=True)]
    return _distribution(histogram, figures, [None] * histogram.bins)
