"""Mean squares of what one report adds to a share: from them follows every variance of a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """Mean squares of what a report adds to the estimate of a share.

    There is an entry for each value, or one for all values alike.

    Attributes:
        inputs: how many values there are.
        own: if the value is the sender's answer; shape (inputs,) or (1,), as the two below.
        other: if it is not, for the answer with the largest square.
        average: if it is not, averaged over the other answers.
        support: how often a report supports the sender's answer, and any other value. None where
            more matters.
        least_reports: from how many reports on the interval of a share is that of many reports.

    """

    inputs: int
    own: Floats
    other: Floats
    average: Floats
    support: tuple[float, float] | None = None
    least_reports: int = EXACT_BELOW

    @property
    def uniform(self) -> float:
        """The variance of a share where all shares are alike."""
        share = 1 / self.inputs
        return float((self.own * share + self.average * (1 - share) - share**2).max())

    @property
    def worst(self) -> float:
        """The variance of a share in the worst population for it."""
        share = np.clip((self.own - self.other) / 2, 0.0, 1.0)
        return float((self.own * share + self.other * (1 - share) - share**2).max())

    def variance(self, share: float) -> float:
        """Return the variance of a share in the worst population that has it."""
        return float((self.own * share + self.other * (1 - share) - share**2).max())
