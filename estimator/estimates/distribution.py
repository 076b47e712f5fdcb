"""The distribution of a number from a tally: a histogram and what follows from it.

Intervals come by resampling and are labelled as such, because no theorem stands behind their coverage. Tallies are
drawn anew from the law that was fitted, so that they show both the noise and the bias of smoothing; an interval
reaches to either side as far as the resampled figures stray to the farther one (Davison & Hinkley 1997, "Bootstrap
methods and their application", section 5.2, has the one-sided forms). Where all intervals of a histogram shall hold
together, each reaches the same multiple of its own spread, the least with which 95 % of the resampled tallies stay
within all of them (the largest |t|; Davison & Hinkley 1997, section 4.2.4). Measured on Beta(2, 5), 100,000 reports, 60
tallies: at epsilon .5, 1 and 4 an interval of 95 % held the variance in .98, .97 and .97, a bin's share in .92, .95
and .98, the quantiles from .25 to .95 in at least .91 of the tallies; but the quantile .05, where the density bends
most, in only .32, .68 and .97. Intervals that shall hold together held all 256 bins, and all figures, in .15, .33 and
.78 of them, not in .95: they, too, know only the fitted law.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from estimator.likelihood.histogram import Histogram
from estimator.likelihood.histogram_fit import Fit
from estimator.results.distribution import Distribution, Resampled
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import CONFIDENCE, TAIL

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def distribution_of(histogram: Histogram, fit: Fit | None, *, simultaneous: bool = False) -> Distribution:
    """Return the distribution of a number.

    Args:
        histogram: its bins, and the law of the mechanism given them.
        fit: what the tally, and those drawn anew, are fitted by; none without reports.
        simultaneous: whether all intervals shall hold together.

    """
    if fit is None:
        return _unknown(histogram)
    figures, resampled = _figures(histogram, fit.smoothed), _figures(histogram, fit.again)
    reach = _reach_together(figures, resampled) if simultaneous else _reach(figures, resampled)
    known = [Resampled(*one) for one in zip(*(ends.tolist() for ends in _ends(histogram, figures, reach)), strict=True)]
    shares, variance, quantiles = known[: histogram.bins], known[histogram.bins], known[histogram.bins + 1 :]
    return Distribution(
        bins=_bins(histogram),
        shares=tuple(shares),
        shares_ml=tuple(fit.likeliest.tolist()),
        mean_ml=float(histogram.mean(fit.likeliest)),
        variance=variance,
        quantiles=tuple(zip(QUANTILES, quantiles, strict=True)),
    )


def _figures(histogram: Histogram, shares: Floats) -> Floats:
    """Return everything that is said of a histogram: its shares, the variance, the quantiles; shape (..., figures)."""
    variance = histogram.variance(shares)[..., np.newaxis]
    return np.concatenate([shares, variance, histogram.quantiles(shares, QUANTILES)], axis=-1)


def _reach(figures: Floats, again: Floats) -> Floats:
    """Return how far each interval reaches, from resampled figures: shape (figures,), (resamples, figures)."""
    lows, highs = np.quantile(again, [1 - TAIL, TAIL], axis=0)
    reach: Floats = np.maximum(highs - figures, figures - lows)
    return reach


def _reach_together(figures: Floats, again: Floats) -> Floats:
    """Return how far each interval reaches so that all of them hold together."""
    strays = np.abs(again - figures)
    spread = np.sqrt((strays**2).mean(axis=0))
    multiples = (strays / np.maximum(spread, np.finfo(float).tiny)).max(axis=1)
    reach: Floats = np.quantile(multiples, CONFIDENCE) * spread
    return reach


def _ends(histogram: Histogram, figures: Floats, reach: Floats) -> tuple[Floats, Floats, Floats]:
    """Return figures with the ends of their intervals, all within what is possible."""
    least, most = _possible(histogram)
    known = np.clip(figures, least, most)  # rounding could leave the range by a bit
    return known, np.clip(figures - reach, least, known), np.clip(figures + reach, known, most)


def _possible(histogram: Histogram) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each figure."""
    bins, quantiles = histogram.bins, len(QUANTILES)
    low, high = histogram.lows[0], histogram.highs[-1]
    least = np.concatenate([np.zeros(bins + 1), np.full(quantiles, low)])
    return least, np.concatenate([np.ones(bins), [(high - low) ** 2 / 4], np.full(quantiles, high)])


def _bins(histogram: Histogram) -> tuple[tuple[float, float], ...]:
    return tuple(zip(histogram.lows.tolist(), histogram.highs.tolist(), strict=True))


def _unknown(histogram: Histogram) -> Distribution:
    least, most = (ends.tolist() for ends in _possible(histogram))
    unknown = [Resampled(None, low, high) for low, high in zip(least, most, strict=True)]
    return Distribution(
        bins=_bins(histogram),
        shares=tuple(unknown[: histogram.bins]),
        shares_ml=(),
        mean_ml=None,
        variance=unknown[histogram.bins],
        quantiles=tuple(zip(QUANTILES, unknown[histogram.bins + 1 :], strict=True)),
    )
