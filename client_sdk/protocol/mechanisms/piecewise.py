"""Piecewise mean: symbols near the answer are likelier, and their mean is that of the answers.

Source: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019, "Collecting and analyzing
multidimensional data with local differential privacy", section III.B (algorithm 2). There the
outputs [-C, C] hold a band of length C - 1 that starts somewhere on a length of C + 1, with C =
(e**(epsilon/2) + 1) / (e**(epsilon/2) - 1). The band is thus as long as the range of its starting
places divided by e**(epsilon/2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.band import Band

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import ChannelRequest

POINTS = 1025
"""1,024 cells: rounding to a point adds at most a quarter of a squared cell to the variance, 2.4e-7
of a unit range."""


@dataclass(frozen=True, slots=True)
class Piecewise(Band):
    """A band of the width with the least worst-case variance of the mean."""

    name: ClassVar[str] = "piecewise"

    @classmethod
    def build(cls, request: ChannelRequest) -> Self:
        """Return the channel that a registry asks for."""
        return cls.within(request.epsilon)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, points: int = POINTS, most: int = COIN_SCALE) -> Self:
        """Return the channel on ``points`` inputs whose epsilon is within the request.

        Args:
            epsilon: the request.
            points: the number of inputs.
            most: the largest total of the weights of a row.

        Raises:
            ValueError: if the total cannot resolve a weight.

        """
        return cls.of_total(points, best_width(points, epsilon.odds), epsilon.odds, most)


def best_width(points: int, odds: Fraction) -> int:
    """Return (points - 1) / sqrt(odds), rounded to an integer, at least 1; integer arithmetic."""
    doubled = isqrt(4 * (points - 1) ** 2 * odds.denominator // odds.numerator)
    return max(1, (doubled + 1) // 2)
