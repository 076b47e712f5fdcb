"""Thresholds: the share of answers at or above each, and a bracket for each quantile.

A share is the unbiased share of the cells above its threshold. True shares fall from one threshold
to the next. Simultaneous intervals are therefore cut to the values that a falling sequence can
take, and remain valid. Separate intervals are not cut, because a neighbor's may miss.

A quantile lies at or above a threshold if more than the rest of the answers reach it, and at or
below if fewer do. Thresholds are checked from the outside in, up to the first that is uncertain.
The bracket of one quantile is then wrong only if the interval of the first threshold beyond the
true quantile is wrong, on one side at each end. Its confidence is that of a single interval, for
any number of thresholds (Maurer, Hothorn & Lehmacher 1995: ordered hypotheses).
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
"""Plans assume that half of the answers reach a threshold, where the variance is largest."""


class SharesAbove(OneSymbol[Thresholds]):
    """Numbers for which a device reports the cell between two thresholds."""

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
        """Whether the numbers are whole."""
        return False

    def worth(self, value: Any) -> float:  # noqa: ANN401 a number
        """Return a number, clipped to the range."""
        return float(self.kind.within(value))

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The share at or above a threshold, and quantiles."""
        quantiles = {f"p{100 * each:.0f}": FigureKey("quantile", each) for each in QUANTILES}
        return {"above[VALUE]": FigureKey("share_above")} | quantiles

    def check(self, tally: Tally) -> None:
        """Refuse a tally with another alphabet, or numbers that floats cannot distinguish."""
        super().check(tally)
        check_range(self.kind)

    @property
    def weights(self) -> Floats:
        """Whether a cell is above each threshold, shape (T, T + 1)."""
        cells = len(self.kind.thresholds) + 1
        return np.triu(np.ones((cells, cells)))[1:]

    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield the shares above, and the brackets of quantiles, of each tally."""
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
        """Return shares and quantiles about which nothing is known."""
        shares = Figures.unknown(self.labels)
        return FigureGroup("share_above", shares, "", SHARES), self._quantiles(shares.lows, shares.highs)

    @property
    def edges(self) -> Floats:
        """The ends of the cells."""
        return np.array([float(end) for end in self.kind.ends])

    def _quantiles(self, lows: Floats, highs: Floats, estimates: Floats = NOTHING) -> FigureGroup:
        """Return the bracket of each quantile, from the intervals of the shares above."""
        places = np.array([bracket(lows, highs, 1 - level) for level in QUANTILES])
        low, high = self.edges[places.T]
        figures = Figures(QUANTILES, low, high, np.clip(estimates, low, high) if estimates.size else estimates)
        return FigureGroup("quantile", figures, self.metric.unit, self.ends)

    def family(self, request: Request) -> int:  # noqa: ARG002 of numbers
        """Return the number of shares, whose intervals determine all brackets."""
        return len(self.labels)

    @property
    def squares(self) -> Squares | None:
        """The mean squares of a report's score for each share above."""
        squares = [self.inverse.expectations(self.inverse.contrast(above) ** 2) for above in self.weights]
        own, other, average = zip(*map(_squares, squares, self.weights > 0), strict=True)
        return Squares(HALVES, np.array(own), np.array(other), np.array(average))

    @property
    def share_count(self) -> int:
        """Two: half of the answers reach a threshold."""
        return HALVES

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and largest score of a report for each share above."""
        scores = np.array([self.inverse.contrast(above) for above in self.weights])
        return scores.min(axis=1), scores.max(axis=1)


def in_order(lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """Return simultaneous intervals, cut to values of a falling sequence; none is empty."""
    least = np.maximum.accumulate(lows[::-1])[::-1]
    return least, np.maximum(least, np.minimum.accumulate(highs))


def bracket(lows: Floats, highs: Floats, rest: float) -> tuple[int, int]:
    """Return the indices of the ends around a quantile: 0, those of the thresholds, and T + 1.

    Args:
        lows: the lower ends of the intervals of the shares above, shape (T,).
        highs: likewise.
        rest: the share of the answers beyond the quantile.

    """
    reached, missed = lows > rest, highs < rest
    return int(np.cumprod(reached).sum()), int(missed.size + 1 - np.cumprod(missed[::-1]).sum())


def _squares(squares: Floats, is_above: Floats) -> tuple[float, float, float]:
    """Return the largest squares of senders above and of those below, and the average below."""
    below = squares[~is_above.astype(np.bool_)]
    return float(squares[is_above.astype(np.bool_)].max()), float(below.max()), float(below.mean())
