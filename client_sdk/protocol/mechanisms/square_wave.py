"""Square wave: a report is more likely within a band of symbols around the number.

Inputs are the k points 0..k-1 of a grid. Symbols are the m = k - 1 + width points of a longer grid.
Input x gives weight ``heavy`` to the ``width`` symbols x..x+width-1, and weight ``light`` to all
other symbols. The band is never cut off at an end of the grid. Therefore the weights of every input
have the same sum, and the expected symbol is exactly linear in x.

The band extends by b to each side of the number. As a fraction of the range, b is (epsilon
e**epsilon - e**epsilon + 1) / (2 e**epsilon (e**epsilon - 1 - epsilon)). This b maximizes an upper
bound on the mutual information between the number and the symbol.

Source: Li, Wang, Lopuhaä-Zwakenberg, Škorić & Li 2020, "Estimating numerical distributions under
local differential privacy", section 5.1 to 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.epsilon import ln_ceiling
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

POINTS = 257
"""The number of grid points to which numbers are rounded. The points are the ends of 256 bins. In
tests with 1,024 bins instead, the error of estimated distributions was less than 2% smaller at
epsilons up to 4."""


@dataclass(frozen=True, slots=True)
class SquareWave(Channel):
    """The channel that prefers a band of symbols, which moves with the number.

    Attributes:
        inputs: k, the number of grid points, at least 2.
        width: the number of symbols in the band, at least 1.
        light: the weight of a symbol outside the band, at least 1.
        heavy: the weight of a symbol in the band.
    """

    name: ClassVar[str] = "square-wave"

    inputs: int
    width: int
    light: int
    heavy: int

    @classmethod
    def build(cls, request: ChannelRequest) -> Self:
        """Return the channel for a request."""
        return cls.within(request.epsilon, request.points(POINTS))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, points: int = POINTS, most: int = COIN_SCALE) -> Self:
        """Return the channel with at most this epsilon and with the band width `best_width`.

        Weights are as large as possible, so that rounding them costs little accuracy.
        """
        odds, width = epsilon.odds, best_width(points, epsilon.odds)
        light = int(most / (width * odds + points - 1))
        if light < 1:
            raise ValueError(f"the weights of {points - 1 + width} symbols do not fit in 64 bits; lower epsilon")
        return cls(inputs=points, width=width, light=light, heavy=int(light * odds))

    @property
    def symbols(self) -> int:
        """The number of symbols."""
        return self.inputs - 1 + self.width

    @property
    def total(self) -> int:
        """The sum of the weights of all symbols, which is the same for every input."""
        return self.width * self.heavy + (self.inputs - 1) * self.light

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {"inputs": self.inputs, "width": self.width, "light": self.light, "heavy": self.heavy}

    @property
    def worst_ratio(self) -> Fraction:
        """The ratio ``heavy`` / ``light``, reached by symbol 0, which is only in input 0's band."""
        return Fraction(self.heavy, self.light)

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times the probability of ``symbol`` if the input is ``given``."""
        return self.heavy if given <= symbol < given + self.width else self.light

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        return Fraction(self.weight(symbol, given), self.total)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the inputs whose bands contain the symbol."""
        return range(max(0, symbol - self.width + 1), min(self.inputs, symbol + 1))

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a random symbol for the input ``value``; always draw exactly one random number."""
        return self.pick(value, coins.below(self.total))

    def pick(self, value: int, drawn: int) -> int:
        """Return the symbol for ``drawn``, a uniform random number from 0 to total - 1.

        The computation takes the same steps inside and outside the band. Otherwise, the duration
        would reveal whether the symbol is in the band.
        """
        in_band = self.width * self.heavy
        is_beyond = drawn >= in_band
        place = (drawn - is_beyond * in_band) // (self.light if is_beyond else self.heavy)
        within, beyond = value + place, place + self.width * (place >= value)
        return beyond if is_beyond else within


def best_width(points: int, odds: Fraction) -> int:
    """Return the width of the band, in grid points, for a grid of ``points`` points.

    The width is 2 b (points - 1), rounded to an integer above 0, with b from the module docstring.
    """
    epsilon = ln_ceiling(odds)
    twice_half_width = (epsilon * odds - odds + 1) / (odds * (odds - 1 - epsilon))
    return max(1, int(twice_half_width * (points - 1) + Fraction(1, 2)))
