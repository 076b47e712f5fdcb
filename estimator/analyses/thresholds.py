"""The share of answers at or above each threshold, and a bracket for each quantile.

The thresholds divide the range of a number into cells. A device reports the cell that contains its
number. The share at or above a threshold is the sum of the shares of all cells above the threshold.

**Intervals.** The true shares fall from one threshold to the next. The estimator therefore narrows
simultaneous intervals to values that do not rise from one threshold to the next. For instance, two
successive thresholds with the intervals 40..60% and 45..70% both get 45..60%. Intervals that are
not simultaneous are not narrowed, because the interval of a neighboring threshold may be wrong.

**Brackets.** The bracket of a quantile is an interval between two cell ends. Let r be the share of
answers above the quantile, such as 5% for the 95th percentile. If the share above a threshold is
larger than r, the quantile lies at or above this threshold.

The search for the lower end compares the intervals with r from the lowest threshold up, until an
interval includes r. The search for the upper end does the same from the highest threshold down. An
end is wrong only if one particular interval is wrong: the interval of the first threshold beyond
the quantile. The bracket therefore has the confidence of a single interval (Maurer, Hothorn &
Lehmacher 1995: ordered hypotheses).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from client_sdk.protocol.kinds.number import Thresholds
from estimator.analyses.answers import OneSymbol
from estimator.analyses.grid import QUANTILES, check_range
from estimator.analyses.means import Contrast, means_of
from estimator.decoders.decoder import Squares
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import NOTHING, Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally

HALVES: Final = 2
"""The number of equal shares that a plan assumes: at or above a threshold, and below it.

The variance is largest if half of the answers reach the threshold.
"""


class SharesAbove(OneSymbol[Thresholds]):
    """Metrics about numbers. A device reports the two thresholds around its number."""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range."""
        return float(self.kind.low), float(self.kind.high)

    @property
    def labels(self) -> Sequence[float]:  # type: ignore[override] # thresholds, not answers
        """The thresholds."""
        return [int(each) if each.denominator == 1 else float(each) for each in self.kind.thresholds]

    @property
    def is_whole(self) -> bool:
        """False, because the numbers need not be whole."""
        return False

    def worth(self, value: Any) -> float:  # noqa: ANN401 a number
        """Return the number, clipped to the range."""
        return float(self.kind.within(value))

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The estimates that alerts may watch: shares at or above a threshold, and quantiles."""
        quantiles = {f"p{100 * each:.0f}": FigureKey("quantile", each) for each in QUANTILES}
        return {"above[VALUE]": FigureKey("share_above")} | quantiles

    def check(self, tally: Tally) -> None:
        """Refuse a tally that does not fit the channel.

        Also refuse a range that is too narrow for floats to distinguish its numbers.
        """
        super().check(tally)
        check_range(self.kind)

    @property
    def weights(self) -> Floats:
        """For each threshold, 1 for every cell above it and 0 for other cells, shape (T, T + 1)."""
        cells = len(self.kind.thresholds) + 1
        return np.triu(np.ones((cells, cells)))[1:]

    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield, for each tally, the shares above thresholds and the brackets of quantiles."""
        contrasts = [Contrast.remembered(self.inverse, tuple(above.tolist())) for above in self.weights]
        means = np.array([means_of(contrast, counts, reports, family) for contrast in contrasts])
        cells = maximum_likelihood(self.inverse, counts)
        for (unbiased, errors, lows, highs), likeliest in zip(means.transpose(1, 2, 0), cells, strict=True):
            least, most = in_order(lows, highs) if family > 1 else (lows, highs)
            above = np.minimum(self.weights @ likeliest, 1.0)
            shares = Figures(self.labels, least, most, unbiased, errors, above)
            quantiles = np.interp(QUANTILES, np.append(0.0, likeliest.cumsum()), self.edges)
            yield FigureGroup("share_above", shares, "", SHARES), self._quantiles(least, most, quantiles)

    def unknown(self) -> tuple[FigureGroup, ...]:
        """Return the figures for a tally without reports.

        Each interval contains all possible values.
        """
        shares = Figures.unknown(self.labels)
        return FigureGroup("share_above", shares, "", SHARES), self._quantiles(shares.lows, shares.highs)

    @property
    def edges(self) -> Floats:
        """The ends of the cells: the low end, the thresholds and the high end, shape (T + 2,)."""
        return np.array([float(end) for end in self.kind.ends])

    def _quantiles(self, lows: Floats, highs: Floats, estimates: Floats = NOTHING) -> FigureGroup:
        """Return the bracket of each quantile.

        ``lows`` and ``highs`` are the ends of the intervals of the shares above thresholds, shape
        (T,). Without reports, ``estimates`` is empty.
        """
        places = np.array([bracket(lows, highs, 1 - level) for level in QUANTILES])
        low, high = self.edges[places.T]
        figures = Figures(QUANTILES, low, high, np.clip(estimates, low, high) if estimates.size else estimates)
        return FigureGroup("quantile", figures, self.metric.unit, self.ends)

    def family(self, request: Request) -> int:  # noqa: ARG002 used for numbers
        """Return the number of thresholds. Brackets need no intervals of their own."""
        return len(self.labels)

    @property
    def squares(self) -> Squares | None:
        """The mean squared score of one report, for the share above each threshold."""
        squares = [self.inverse.expectations(self.inverse.contrast(above) ** 2) for above in self.weights]
        own, other, average = zip(*map(_squares, squares, self.weights > 0), strict=True)
        return Squares(HALVES, np.array(own), np.array(other), np.array(average))

    @property
    def share_count(self) -> int:
        """2, because a plan assumes that half of the answers reach a threshold."""
        return HALVES

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and the largest score of one report, for the share above each threshold."""
        scores = np.array([self.inverse.contrast(above) for above in self.weights])
        return scores.min(axis=1), scores.max(axis=1)


def in_order(lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """Narrow simultaneous intervals to shares that do not rise from one threshold to the next.

    No interval becomes empty.
    """
    least = np.maximum.accumulate(lows[::-1])[::-1]
    return least, np.maximum(least, np.minimum.accumulate(highs))


def bracket(lows: Floats, highs: Floats, rest: float) -> tuple[int, int]:
    """Return the indices of the two cell ends around a quantile.

    Index 0 is the low end of the range, 1 to T are the thresholds, and T + 1 is the high end.

    Args:
        lows: the lower ends of the intervals of the shares above thresholds, shape (T,).
        highs: the upper ends of the intervals of the shares above thresholds, shape (T,).
        rest: the share of the answers above the quantile.
    """
    reached, missed = lows > rest, highs < rest
    return int(np.cumprod(reached).sum()), int(missed.size + 1 - np.cumprod(missed[::-1]).sum())


def _squares(squares: Floats, is_above: Floats) -> tuple[float, float, float]:
    """Return three mean squared scores of a report, for the share above a threshold.

    * the largest mean square among the inputs above the threshold
    * the largest mean square among the inputs below the threshold
    * the average of the mean squares of the inputs below the threshold
    """
    below = squares[~is_above.astype(np.bool_)]
    return float(squares[is_above.astype(np.bool_)].max()), float(below.max()), float(below.mean())
