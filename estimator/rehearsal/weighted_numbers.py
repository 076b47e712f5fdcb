"""The truth about numbers with weights: their variance, quantiles, and shares of ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estimator.statistics.arrays import Counts, Floats

ROUNDING: Final = 1e-9
"""A part of the weights that a sum of floats may lack. A quantile is reached in spite of it."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedNumbers:
    """Numbers, rising, with weights: how many devices, or which share of them, gave each.

    Attributes:
        values: shape (values,), rising.
        weights: shape (values,).
        total: the exactly rounded sum of the weights, above 0.

    """

    values: Floats
    weights: Floats | Counts
    total: float

    @classmethod
    def of(cls, values: Sequence[float], weights: Floats | Counts) -> WeightedNumbers:
        """Return numbers in any order with weights of any positive sum."""
        rising = np.argsort(values)
        return cls(np.array(values)[rising], weights[rising], math.fsum(weights.tolist()))

    @property
    def variance(self) -> float:
        """The variance, in squared units."""
        mean = math.fsum((self.weights * self.values).tolist()) / self.total
        return math.fsum((self.weights * (self.values - mean) ** 2).tolist()) / self.total

    def quantiles(self, probabilities: Sequence[float]) -> list[float]:
        """Return, for each probability, the least value that such a part does not exceed."""
        reached = np.searchsorted(np.cumsum(self.weights) / self.total, np.array(probabilities) - ROUNDING)
        quantiles: list[float] = self.values[np.minimum(reached, self.values.size - 1)].tolist()
        return quantiles

    def at_most(self, places: Sequence[float]) -> list[float]:
        """Return, for each place, the share of values that are at most there."""
        return [self._share(self.values <= place) for place in places]

    def bins(self, starts: Sequence[float]) -> list[float]:
        """Return the share of values in each bin.

        A bin holds its start and ends before the next one starts; the last has no end.
        """
        places = np.searchsorted(np.array(starts), self.values, side="right") - 1
        return [self._share(places == place) for place in range(len(starts))]

    def ranges(self, ends: Sequence[tuple[float, float]]) -> list[float]:
        """Return the share of values in each range, both ends included."""
        return [self._share((start <= self.values) & (self.values <= end)) for start, end in ends]

    def _share(self, is_chosen: NDArray[np.bool_]) -> float:
        """Return the share of the chosen values: exactly 1 if all are chosen."""
        return math.fsum(self.weights[is_chosen].tolist()) / self.total
