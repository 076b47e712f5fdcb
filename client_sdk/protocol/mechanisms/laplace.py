"""Laplace noise on a grid, for numbers: discrete, and cut at the ends of the range without loss.

Sources: Dwork & Roth 2014, section 3.3; on integers Ghosh, Roughgarden & Sundararajan 2012, "Universally
utility-maximizing privacy mechanisms", definition 2.2 (geometric mechanism) and its truncated form: whatever falls
beyond an end of the range is reported as that end. There all inputs fall off by one and the same factor, so that the
place says nothing more than the end does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from client_sdk.protocol.channel import COIN_SCALE, PURE
from client_sdk.protocol.epsilon import RequestedEpsilon
from client_sdk.protocol.exact import root_floor
from client_sdk.protocol.mechanisms.noise import AdditiveNoise

POINTS = 257
"""256 cells: even at epsilon 20 rounding to a point adds less than a hundredth part to the variance."""

WORKING_BITS = 128
"""Of the fractions between the steps; only the integers at the end are part of the law."""


@dataclass(frozen=True, slots=True)
class Laplace(AdditiveNoise):
    """Noise that falls by one factor a place; ``reach`` is 0, and the last weight is that of all farther noise."""

    name: ClassVar[str] = "laplace"

    delta: ClassVar[Fraction] = PURE

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, points: int = POINTS, most: int = COIN_SCALE) -> Self:
        """Return the channel on ``points`` inputs, of a total within ``most``, whose epsilon is within the request.

        Weights rise towards no noise by the (points - 1)-th root of e**epsilon, each rounded down. All farther noise
        has the least weight for which the ends of the range, too, stay within e**epsilon.

        Raises:
            ValueError: if the total cannot resolve a weight.

        """
        one = 1 << WORKING_BITS
        factor = int(root_floor(epsilon.odds, points - 1) * one)
        rising = [one]
        for _ in range(points - 1):
            rising.append(rising[-1] * factor >> WORKING_BITS)
        beyond = one * one // (factor - one) + 1
        for_rounding = 2 * int((points + epsilon.odds) / (epsilon.odds - 1)) + 2
        least = (most - for_rounding) * one // (rising[-1] + 2 * (sum(rising[:-1]) + beyond))
        if least < 1:
            raise ValueError(f"the weights of {points} symbols do not fit; raise or lower epsilon")
        weights = [least * step >> WORKING_BITS for step in reversed(rising)]
        farther = -int(-(sum(weights) - epsilon.odds * weights[-1]) // (epsilon.odds - 1))
        return cls(points, 0, (*weights, farther))

    @property
    def worst_ratio(self) -> Fraction:
        """At an end of the range, or in the place next to it."""
        last = self.inputs - 1
        inside = Fraction(self.weights[0], self.weights[last - 1]) if self.inputs > 2 else Fraction(1)  # noqa: PLR2004
        return max(inside, Fraction(self.weight(0, 0), self.weight(0, last)))
