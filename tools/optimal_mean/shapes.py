"""Sliding bands and their variances, computed in floats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True)
class Shape:
    """A channel with sliding bands, one per answer. ``odds`` is e**epsilon."""

    odds: float
    symbols: int
    width: int

    @property
    def bands(self) -> int:
        """The number of bands."""
        return self.symbols - self.width + 1

    @property
    def surplus(self) -> float:
        """The probability of a symbol in the band, minus the probability of a symbol outside."""
        return (self.odds - 1) / (self.symbols + (self.odds - 1) * self.width)

    def law(self) -> Floats:
        """Return the probability of each symbol for each band, shape (bands, symbols)."""
        places = np.arange(self.symbols) - np.arange(self.bands)[:, np.newaxis]
        inside = (places >= 0) & (places < self.width)
        law: Floats = np.where(inside, self.odds, 1.0) * (self.surplus / (self.odds - 1))
        return law


def worst_variance(places: Floats, squares: Floats) -> float:
    """Return the largest variance of a report's score, over all answers.

    The device chooses one of two bands at random for an answer between them. ``places`` and
    ``squares`` are the expected score and squared score of each band, shape (bands,). The bands are
    in rising order of score.
    """
    gaps = np.diff(places)
    slopes = np.diff(squares) / gaps
    worst = np.clip(slopes / 2, places[:-1], places[1:])
    between: Floats = squares[:-1] + slopes * (worst - places[:-1]) - worst**2
    return float(between.max())
