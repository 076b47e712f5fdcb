"""Randomized response: a device reports the truth with a known probability, else the opposite.

Source: Warner 1965; Dwork & Roth 2014, section 3.2. At epsilon = ln 3, the device keeps its answer
with probability 3/4. If a share y of the reports says "yes", the share of true "yes" answers is
about 2 y - 1/2.

If the inputs are the ends of a range, the mechanism is known as the one-bit mean. A number is first
rounded to one of the ends, at random and without bias. Sources: Duchi, Jordan & Wainwright 2018,
section 4.1; Ding, Kulkarni & Yekhanin 2017, "Collecting telemetry data privately", section 3
(1BitMean).
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
class RandomizedResponse(Channel):
    """The channel that reports the truth with probability ``keep_numerator`` / 2**64."""

    name: ClassVar[str] = "randomized-response"
    says_truth: ClassVar[bool] = True

    inputs: ClassVar[int] = 2
    symbols: ClassVar[int] = 2

    keep_numerator: int

    @classmethod
    def build(cls, request: ChannelRequest) -> RandomizedResponse:
        """Return the channel for a request."""
        return cls.within(request.epsilon)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon) -> RandomizedResponse:
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        return cls(keep_numerator=int(COIN_SCALE * epsilon.odds / (epsilon.odds + 1)))

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {"keep_numerator": self.keep_numerator}

    @property
    def worst_ratio(self) -> Fraction:
        """The probability of the truth, divided by the probability of the opposite."""
        return Fraction(self.keep_numerator, COIN_SCALE - self.keep_numerator)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return the probability of ``symbol`` if the input is ``given``."""
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        return keep if symbol == given else 1 - keep

    def perturb(self, value: int, coins: Coins) -> int:
        """Return the true value with probability ``keep_numerator`` / 2**64, else the opposite."""
        return value if coins.bernoulli(self.keep_numerator) else 1 - value


@dataclass(frozen=True, slots=True)
class OneBit(RandomizedResponse):
    """Randomized response on the ends of a range. Input 0 is the low end, input 1 the high end."""

    name: ClassVar[str] = "one-bit"
