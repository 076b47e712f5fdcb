"""The inverse of channels with permanent answers, which estimates true answers in two steps.

A device randomizes its true answer once (the permanent step). The device randomizes the resulting
permanent answer again for each report (the instantaneous step). The permanent answer is the true
answer with probability p, and each other answer with probability q. If a share f of people have a
certain true answer, the expected share of people with the same permanent answer is q + (p - q) f.
Sources: Erlingsson, Pihur & Korolova 2014, section 4; Arcolezi et al. 2023, section 3.

The inverse of the instantaneous step estimates the shares of permanent answers. The share s of a
permanent answer is then converted to the share (s - q) / (p - q) of the true answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from client_sdk.protocol.channel import Channel
from estimator.decoders.decoder import Inverse, Squares
from estimator.decoders.support import Support
from estimator.statistics.arrays import Counts, Floats, Reports

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.permanent import Permanent


@dataclass(frozen=True, slots=True, eq=False)
class TwoStep:
    """The inverse of a channel with a permanent step, followed by an instantaneous step.

    Attributes:
        second: the inverse of the instantaneous step.
        keep: p, the probability that the permanent answer is the true answer.
        lie: q, the probability that the permanent answer is one particular other answer.

    """

    second: Inverse
    keep: float
    lie: float

    @property
    def gap(self) -> float:
        """The factor p - q by which the permanent step reduces differences between shares."""
        return self.keep - self.lie

    def shares(self, counts: Counts, reports: Reports) -> Floats:
        """Return the unbiased estimate of each value's share, shape (..., k)."""
        shares: Floats = (self.second.shares(counts, reports) - self.lie) / self.gap
        return shares

    def standard_errors(self, counts: Counts, reports: Reports) -> Floats:
        """Return the standard error of each share, shape (..., k)."""
        errors: Floats = self.second.standard_errors(counts, reports) / self.gap
        return errors

    def intervals(self, counts: Counts, reports: Reports, family: int = 1) -> tuple[Floats, Floats]:
        """Return the shares' intervals, converted from the intervals for permanent answers."""
        low, high = (
            np.clip((end - self.lie) / self.gap, 0.0, 1.0) for end in self.second.intervals(counts, reports, family)
        )
        return low, high

    def contrast(self, weights: Floats) -> Floats:
        """Return each symbol's score in the estimate of a weighted sum of shares, shape (m,)."""
        summed: Floats = (self.second.contrast(weights) - self.lie * weights.sum()) / self.gap
        return summed

    def squares(self, inputs: int) -> Squares:
        """Return a report's mean squared scores for the sender's value and for other values."""
        second = self.second.squares(inputs)
        others = inputs - 1
        everything = second.own + others * second.average

        def mixed(square: Floats, expected: float) -> Floats:
            mixture = self.lie * everything + self.gap * square
            squares: Floats = (mixture - 2 * self.lie * expected + self.lie**2) / self.gap**2
            return squares

        support = None
        if second.support is not None:
            own, other = second.support
            named = self.lie * (own + others * other)
            support = named + self.gap * own, named + self.gap * other
        return Squares(
            inputs,
            mixed(second.own, self.keep),
            mixed(second.other, self.lie),
            mixed(second.average, self.lie),
            support,
            second.least_reports,
        )

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of any symbol, for each share."""
        least, most = self.second.extremes()
        return (least - self.lie) / self.gap, (most - self.lie) / self.gap

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol, shape (..., m), given shares of shape (..., k)."""
        return self.second.symbol_law(self.lie * shares.sum(axis=-1, keepdims=True) + self.gap * shares)

    def expectations(self, scores: Floats) -> Floats:
        """Return the expected score of a report for each input, given scores of shape (..., m)."""
        of_permanent = self.second.expectations(scores)
        expected: Floats = self.lie * of_permanent.sum(axis=-1, keepdims=True) + self.gap * of_permanent
        return expected


def first_step(channel: Channel) -> Channel:
    """Return the channel that maps the true answer to the permanent answer."""
    return cast("Permanent", channel).permanent  # no other channel has two steps


def two_step(channel: Channel, second: Inverse) -> Inverse:
    """Return the inverse of a channel with a permanent and an instantaneous step.

    ``second`` is the inverse of the instantaneous step. If ``second`` is a `Support`, the
    result is also a `Support`, because each symbol supports only its own value.
    """
    keep, lie = (first_step(channel).probability(0, given) for given in (0, 1))
    if not isinstance(second, Support):
        return TwoStep(second, float(keep), float(lie))
    gap = second.own - second.other
    return Support(own=second.other + gap * keep, other=second.other + gap * lie)
