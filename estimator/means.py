"""The mean of a number from a tally: unbiased, with an interval that is safe where reports are few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from estimator.intervals import EXACT_BELOW, Floats, hoeffding_half_width, z_of
from estimator.inverse.protocol import Inverse
from estimator.tallies import Counts


class Spoken(Protocol):
    """What each symbol speaks for, on a scale from 0 to 1, so that on average it is the truth."""

    @property
    def answers(self) -> Floats:
        """One a symbol, shape (symbols,); some may lie far outside 0..1."""

    def least_variance(self, mean: float) -> float:
        """Return the least variance that one report's answer has where the true mean is ``mean``, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """What the symbols of a channel of values speak for, where each value has a position.

    Attributes:
        answers: one a symbol, shape (symbols,).
        floor: the least variance of one report's answer among people who answer alike.

    """

    answers: Floats
    floor: float

    @classmethod
    def of(cls, inverse: Inverse, positions: Floats) -> Contrast:
        """Return that of positions from 0 to 1, shape (k,)."""
        answers = inverse.contrast(positions)
        return cls(answers, float((inverse.expectations(answers**2) - positions**2).min()))

    def least_variance(self, mean: float) -> float:  # noqa: ARG002 the same for every mean
        """Return the floor."""
        return self.floor


class Mean(NamedTuple):
    """An unbiased mean, its standard error, and its interval within 0..1."""

    unbiased: float | None
    standard_error: float | None
    low: float
    high: float


def mean_of(spoken: Spoken, counts: Counts, reports: int, family: int = 1) -> Mean:
    """Return the mean on a scale from 0 to 1, of people sampled at random.

    * From 50 reports on the interval is the normal one. Its variance is that of the answers that were observed, but
      never less than the least that the mechanism has at the estimated mean: at a large epsilon the few reports from
      outside the band carry most of the variance, and there may be none among them.
    * Fewer reports get Hoeffding's interval (Hoeffding 1963, theorem 2), which holds at every truth.

    Args:
        spoken: what a symbol speaks for.
        counts: the count of each symbol.
        reports: n, their sum; with 0 everything is possible.
        family: how many intervals shall hold together.

    """
    if reports == 0:
        return Mean(None, None, 0.0, 1.0)
    shares = counts / reports
    mean = float(shares @ spoken.answers)
    possible = min(1.0, max(0.0, mean))
    observed = float(shares @ (spoken.answers - mean) ** 2) * reports / max(1, reports - 1)
    error = math.sqrt(max(observed, spoken.least_variance(possible)) / reports)
    half_width = z_of(family) * error
    if reports < EXACT_BELOW:
        half_width = float(hoeffding_half_width(float(np.ptp(spoken.answers)), reports, family))
    low, high = (min(1.0, max(0.0, end)) for end in (mean - half_width, mean + half_width))
    return Mean(mean, error, low, high)
