"""k-ary (generalized) randomized response: a device reports its answer, or a random other value.

Source: Kairouz, Bonawitz & Ramage 2016, "Discrete distribution estimation under local privacy",
section 3 (k-RR).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest


@dataclass(frozen=True, slots=True)
class KAryRandomizedResponse(Channel):
    """The channel that reports the true value with probability ``keep_numerator`` / 2**64."""

    name: ClassVar[str] = "k-ary-randomized-response"
    says_truth: ClassVar[bool] = True

    inputs: int
    keep_numerator: int

    @classmethod
    def build(cls, request: ChannelRequest) -> KAryRandomizedResponse:
        """Return the channel for a request."""
        return cls.within(request.epsilon, request.size)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, inputs: int) -> KAryRandomizedResponse:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        return cls(inputs=inputs, keep_numerator=int(COIN_SCALE * epsilon.odds / (epsilon.odds + inputs - 1)))

    @property
    def symbols(self) -> int:
        """The number of symbols."""
        return self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {"inputs": self.inputs, "keep_numerator": self.keep_numerator}

    @property
    def worst_ratio(self) -> Fraction:
        """The probability of the true value, divided by the probability of another value."""
        return Fraction(self.keep_numerator * (self.inputs - 1), COIN_SCALE - self.keep_numerator)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        if symbol == given:
            return Fraction(self.keep_numerator, COIN_SCALE)
        return Fraction(COIN_SCALE - self.keep_numerator, COIN_SCALE * (self.inputs - 1))

    def perturb(self, value: int, coins: Coins) -> int:
        """Return the true value, or one of the k - 1 other values (a lie).

        A lie is always drawn, even if the true value is reported. Otherwise, the duration would
        reveal lies.
        """
        keep = coins.bernoulli(self.keep_numerator)
        steps_to_lie = 1 + coins.below(self.inputs - 1)
        return value if keep else (value + steps_to_lie) % self.inputs
