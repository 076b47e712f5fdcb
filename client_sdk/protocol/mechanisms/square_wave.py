"""Square wave: a band around the answer whose width tells most about the distribution.

Source: Li, Wang, Lopuhaä-Zwakenberg, Škorić & Li 2020, "Estimating numerical distributions under
local differential privacy", section 5.1 to 5.3: the half-width b = (epsilon e**epsilon - e**epsilon
+ 1) / (2 e**epsilon (e**epsilon - 1 - epsilon)) of the range maximises the information between
answer and symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.exact import ln_ceiling
from client_sdk.protocol.mechanisms.band import Band

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import ChannelRequest

POINTS = 257
"""The ends of 256 bins. Bins four times finer gained less than 2 % of the distance to the truth up
to epsilon 4."""


@dataclass(frozen=True, slots=True)
class SquareWave(Band):
    """A band of the width that tells most about where the answer is."""

    name: ClassVar[str] = "square-wave"

    @classmethod
    def build(cls, request: ChannelRequest) -> Self:
        """Return the channel that a registry asks for."""
        return cls.within(request.epsilon, request.points(POINTS))

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
    """Return 2 b (points - 1), with b the best half-width, rounded to an integer of at least 1."""
    epsilon = ln_ceiling(odds)
    twice_half_width = (epsilon * odds - odds + 1) / (odds * (odds - 1 - epsilon))
    return max(1, int(twice_half_width * (points - 1) + Fraction(1, 2)))
