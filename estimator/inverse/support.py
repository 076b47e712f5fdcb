"""What the inverses share: a value's support count is binomial, whatever the other shares are.

A symbol supports the value that it names. A report supports a value with probability p if it is the sender's answer
and q if it is not, so of n reports of independently sampled people the count is binomial with probability
P = q + (p - q) * share. (Wang, Blocki, Li & Jha 2017, "Locally differentially private protocols for frequency
estimation", section 3: pure protocols.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from estimator.tallies import Counts

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Support:
    """The two probabilities of support, exact.

    Attributes:
        own: p, how often a report supports the sender's answer.
        other: q, how often it supports a given other value; below p.

    """

    own: Fraction
    other: Fraction

    @property
    def slope(self) -> Fraction:
        """How much the estimated share rises with the frequency of support: 1 / (p - q)."""
        return 1 / (self.own - self.other)

    @property
    def intercept(self) -> Fraction:
        """The estimated share where nothing supports the value: -q / (p - q)."""
        return -self.other * self.slope

    def shares(self, counts: Counts, reports: int) -> Floats:
        """Return the unbiased estimate of each value's share, shape (k,).

        It may lie outside 0..1 and is never clipped: clipping would bias it.

        Args:
            counts: the support count of each value, shape (k,).
            reports: n, at least 1.

        """
        return float(self.slope) * (counts / reports) + float(self.intercept)

    def standard_errors(self, counts: Counts, reports: int) -> Floats:
        """Return the standard error of each estimated share, shape (k,), for people sampled at random.

        It is sqrt(P (1 - P) / n) / (p - q) at the frequency of support P that was observed, moved into q..p, which
        holds every possible one; so it is above 0 even if no report, or every report, supports the value.
        """
        frequency = np.clip(counts / reports, float(self.other), float(self.own))
        errors: Floats = float(self.slope) * np.sqrt(frequency * (1 - frequency) / reports)
        return errors
