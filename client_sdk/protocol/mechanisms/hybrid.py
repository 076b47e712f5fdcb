"""Hybrid mean: a coin that does not look at the answer takes piecewise or one-bit.

Source: Wang et al. 2019, "Collecting and analyzing multidimensional data with local differential privacy", section
III.C: piecewise with probability 1 - e**(-epsilon/2), which makes the variance the same for every answer and, from
epsilon = 0.61 on, the worst case smaller than that of either. (Below, the paper takes one-bit alone; so does ``auto``.)

The symbol tells which of the two was taken: the first symbols are those of piecewise, the last two are the low and
the high end of the range. The mixture of two channels of one epsilon has that epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Self

from client_sdk.protocol.channel import COIN_SCALE, PURE, Coins
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.mechanisms.piecewise import POINTS, Piecewise


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The mixture of a band and of the two ends of the range.

    Attributes:
        band: the piecewise part.
        least: the weight of an end at the input farthest from it, at least 1.
        step: how much the weight of an end rises with each input towards it.

    """

    name: ClassVar[str] = "hybrid"

    delta: ClassVar[Fraction] = PURE

    band: Piecewise
    least: int
    step: int

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, points: int = POINTS, most: int = COIN_SCALE) -> Self:
        """Return the channel on ``points`` inputs, of a total within ``most``, whose epsilon is within the request.

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
        """The points of the grid."""
        return self.band.inputs

    @property
    def symbols(self) -> int:
        """Those of the band, then the two ends."""
        return self.band.symbols + 2

    @property
    def ends(self) -> int:
        """What the weights of the two ends add up to, for every input."""
        return 2 * self.least + self.step * (self.inputs - 1)

    @property
    def total(self) -> int:
        """What the weights of every input's symbols add up to."""
        return self.band.total + self.ends

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the law."""
        return {**self.band.integers, "least": self.least, "step": self.step}

    @property
    def worst_ratio(self) -> Fraction:
        """The larger one of the two parts'."""
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

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a symbol for the input ``value``; one coin for every input."""
        drawn = coins.below(self.total)
        if drawn < self.band.total:
            return self.band.pick(value, drawn)
        low_end = self.band.symbols
        return low_end if drawn - self.band.total < self.weight(low_end, value) else low_end + 1
