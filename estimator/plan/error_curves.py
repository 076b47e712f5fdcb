"""How errors fall with epsilon, and the epsilons with which they are all the same multiple of what is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from client_sdk.protocol.epsilon import LEAST
from estimator.statistics.arrays import Floats

HIGHEST: Final = 2.0**64
"""A multiple of what is wanted that no budget is too small for, and its inverse one that none is large enough for."""

HALVINGS: Final = 60
"""Of the logarithm of the multiple, down to the last bits of a float."""

RESOLVED: Final = 2.0**-100
"""Of the noise at epsilon near 1: less of it is left at no epsilon that a registry may hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """One entry a metric: what is wanted of it, its noise, its limit, and its reports in a window of the budget."""

    wanted: Floats
    floor: Floats
    noise: Floats
    most: Floats
    reports: Floats

    def epsilons(self, multiple: float, part: float) -> Floats:
        """Return with which all errors are this multiple of what is wanted if a part of the devices answers."""
        left = np.maximum((multiple * self.wanted) ** 2 * part - self.floor, self.noise * RESOLVED)
        found: Floats = np.clip(2 * np.arcsinh(np.sqrt(self.noise / left) / 2), float(LEAST), self.most)
        return found

    def fill(self, total: float, answers: int | None) -> tuple[float, Floats]:
        """Return the least multiple that a total allows, and the epsilons."""
        part = 1.0 if answers is None else answers / self.wanted.size
        low, high = 1 / HIGHEST, HIGHEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            costs = np.sort(self.reports * self.epsilons(middle, part))[::-1]
            low, high = (low, middle) if costs[:answers].sum() <= total else (middle, high)
        return high, self.epsilons(high, part)
