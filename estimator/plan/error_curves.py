"""How errors fall with epsilon, and where all are the same multiple of their targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from client_sdk.protocol.requested_epsilon import LEAST_EPSILON
from estimator.statistics.arrays import Floats

HIGHEST: Final = 2.0**64
"""A multiple of the targets that any budget reaches. No budget reaches its inverse."""

HALVINGS: Final = 60
"""How often the logarithm of the multiple is halved: down to the last bits of a float."""

RESOLVED: Final = 2.0**-100
"""The least noise that is left at any epsilon a registry may hold, as a fraction of that at an
epsilon near 1.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """How the errors of all metrics fall with epsilon. All arrays have shape (metrics,).

    Attributes:
        targets: the standard errors that count as one, in the metrics' units.
        floor: the variance of one unperturbed answer, in squared units.
        noise: the variance that perturbation adds, times 4 sinh(epsilon / 2)**2.
        most: the largest epsilon.
        reports: how many reports a window of the budget has.

    """

    targets: Floats
    floor: Floats
    noise: Floats
    most: Floats
    reports: Floats

    def epsilons(self, multiple: float, part: float) -> Floats:
        """Return the epsilons at which all errors are a multiple of their targets.

        Args:
            multiple: of the targets.
            part: the fraction of the devices that answers.

        """
        left = np.maximum((multiple * self.targets) ** 2 * part - self.floor, self.noise * RESOLVED)
        epsilons: Floats = np.clip(2 * np.arcsinh(np.sqrt(self.noise / left) / 2), float(LEAST_EPSILON), self.most)
        return epsilons

    def fill(self, total: float, answers: int | None) -> tuple[float, Floats]:
        """Return the least multiple that a total allows, and the epsilons.

        Args:
            total: what all reports of a window may cost together.
            answers: how many questions a window asks where they are drawn, else None.

        """
        part = 1.0 if answers is None else answers / self.targets.size
        low, high = 1 / HIGHEST, HIGHEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            costs = np.sort(self.reports * self.epsilons(middle, part))[::-1]
            low, high = (low, middle) if costs[:answers].sum() <= total else (middle, high)
        return high, self.epsilons(high, part)
