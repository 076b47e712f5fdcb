"""Discrete Laplace noise on a grid, for numbers, truncated without loss of information.

If input plus noise is beyond an end of the range, the device reports this end. This loses no
information, because all sums of input and noise beyond an end say the same about the input: from
one sum to the next, the probabilities for all inputs decrease by the same factor.

Sources: Dwork & Roth 2014, section 3.3; Ghosh, Roughgarden & Sundararajan 2012, "Universally
utility-maximizing privacy mechanisms", definition 2.2 (the geometric mechanism, which adds
integers, and its truncated form).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.epsilon import DOWN
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest

POINTS = 257
"""The number of grid points to which numbers are rounded. Even at epsilon 20, rounding adds less
than 1% to the variance."""

WORKING_BITS = 128
"""The precision of intermediate fractions, in bits. Only the final integers define the channel."""


@dataclass(frozen=True, slots=True)
class Laplace(AdditiveNoise):
    """The channel that adds discrete Laplace noise.

    Each weight is smaller than the previous one by a constant factor. The last weight covers all
    larger noise.
    """

    name: ClassVar[str] = "laplace"

    @classmethod
    def build(cls, request: ChannelRequest) -> Self:
        """Return the channel for a request."""
        return cls.within(request.epsilon, request.points(POINTS))

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, points: int = POINTS, most: int = COIN_SCALE) -> Self:
        """Return the channel with the largest integer weights that ``epsilon`` and ``most`` allow.

        Each weight except the last two is the next weight times e**(epsilon / (points - 1)),
        rounded down. The last weight covers all larger noise. The last weight is the smallest
        weight for which the probability ratios at the ends of the range are at most e**epsilon. The
        number of symbols equals the number of inputs. ``most`` is the maximum sum of the weights of
        all symbols for an input.
        """
        unit = 1 << WORKING_BITS
        factor = int(root_floor(epsilon.odds, points - 1) * unit)
        rising = [unit]
        for _ in range(points - 1):
            rising.append(rising[-1] * factor >> WORKING_BITS)
        beyond = unit * unit // (factor - unit) + 1
        for_rounding = 2 * int((points + epsilon.odds) / (epsilon.odds - 1)) + 2
        least = (most - for_rounding) * unit // (rising[-1] + 2 * (sum(rising[:-1]) + beyond))
        if least < 1:
            raise ValueError(f"the weights of {points} symbols do not fit in 64 bits; raise or lower epsilon")
        weights = [least * step >> WORKING_BITS for step in reversed(rising)]
        farther = -int(-(sum(weights) - epsilon.odds * weights[-1]) // (epsilon.odds - 1))
        return cls(points, 0, (*weights, farther))

    @property
    def worst_ratio(self) -> Fraction:
        """The larger of the worst ratios of symbol 0 (an end of the range) and symbol 1."""
        last = self.inputs - 1
        inside = Fraction(self.weights[0], self.weights[last - 1]) if self.inputs > 2 else Fraction(1)  # noqa: PLR2004
        return max(inside, Fraction(self.weight(0, 0), self.weight(0, last)))


def root_floor(value: Fraction, degree: int) -> Fraction:
    """Return the ``degree``-th root of a value of at least 1, rounded down to a fraction.

    The relative error is below one part in 10**46.
    """
    below = DOWN.divide(Decimal(value.numerator), Decimal(value.denominator))
    logarithm = DOWN.next_minus(DOWN.ln(below)) if below > 1 else Decimal(0)
    return Fraction(DOWN.next_minus(DOWN.exp(DOWN.divide(logarithm, Decimal(degree)))))
