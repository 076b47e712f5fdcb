"""Hybrid mean: a coin that does not look at the answer chooses piecewise or one-bit.

Source: Wang et al. 2019, "Collecting and analyzing multidimensional data with local differential
privacy", section III.C: piecewise with probability 1 - e**(-epsilon/2). The variance is then the
same for every answer and, from epsilon = 0.61 up, the worst case is smaller than that of either
mechanism. Below that the paper uses one-bit alone, as does ``auto``.

The symbol shows which of the two was chosen: the first symbols are those of piecewise, the last two
are the low and the high end of the range. The mixture of two channels of one epsilon has that
epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.coins import COIN_SCALE, Coins
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.piecewise import POINTS, Piecewise

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.mechanism import ChannelRequest


@dataclass(frozen=True, slots=True)
class Hybrid(Channel):
    """The mixture of a band and of the two ends of the range.

    Attributes:
        band: the piecewise part.
        least: the weight of an end of the range at the input farthest from it, at least 1.
        step: how much the weight of an end rises with each input towards it.

    """

    name: ClassVar[str] = "hybrid"

    band: Piecewise
    least: int
    step: int

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
        odds = epsilon.odds
        for_ends = isqrt(most * most * odds.denominator // odds.numerator)  # most * e**(-epsilon/2)
        band = Piecewise.within(epsilon, points, most - for_ends)
        least = int(for_ends / (odds + 1))
        step = int(least * (odds - 1) / (points - 1))
        if step < 1:
            raise ValueError(f"the weights of {points} inputs do not fit; choose another epsilon")
        return cls(band, least, step)

    @property
    def inputs(self) -> int:
        """The number of points of the grid."""
        return self.band.inputs

    @property
    def symbols(self) -> int:
        """The number of symbols: those of the band, then the two ends."""
        return self.band.symbols + 2

    @property
    def ends(self) -> int:
        """The sum of the weights of the two ends, the same for every input."""
        return 2 * self.least + self.step * (self.inputs - 1)

    @property
    def total(self) -> int:
        """The sum of the weights of every row."""
        return self.band.total + self.ends

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the law."""
        return {**self.band.integers, "least": self.least, "step": self.step}

    @property
    def worst_ratio(self) -> Fraction:
        """The larger ratio of the two parts."""
        return max(self.band.worst_ratio, Fraction(self.least + self.step * (self.inputs - 1), self.least))

    def weight(self, symbol: int, given: int) -> int:
        """Return ``total`` times P(symbol | given)."""
        if symbol < self.band.symbols:
            return self.band.weight(symbol, given)
        is_low = symbol == self.band.symbols
        return self.least + self.step * (self.inputs - 1 - given if is_low else given)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given)."""
        return Fraction(self.weight(symbol, given), self.total)

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the inputs of the band, or an end."""
        if symbol < self.band.symbols:
            return self.band.likeliest(symbol)
        return (0,) if symbol == self.band.symbols else (self.band.inputs - 1,)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a symbol for the input ``value``; one coin for every input."""
        drawn = coins.below(self.total)
        if drawn < self.band.total:
            return self.band.pick(value, drawn)
        low_end = self.band.symbols
        return low_end if drawn - self.band.total < self.weight(low_end, value) else low_end + 1
