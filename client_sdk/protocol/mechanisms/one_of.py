"""One of several yes/no questions, drawn by a coin: its answer by randomized response.

An input answers m questions with yes or no, such as whether a value is a member of a set. A coin
that does not depend on the answers draws one question. Its answer is kept with a known probability,
otherwise the opposite is reported, and the symbol shows the question: 2 j + 1 for yes to question
j, 2 j for no. A mixture of channels with the same epsilon has that epsilon, for whole inputs, no
matter in how many answers they differ. Drawing by the answers would void this.

n times the variance of a share is m e**epsilon / (e**epsilon - 1)**2, plus m times that of
sampling. Answers that exclude each other are better reported as one category: the shares above T
thresholds follow from T + 1 cells with less variance at every epsilon.

Source: Warner 1965, for one question; hierarchical histograms draw a level in the same way
(Cormode, Kulkarni & Srivastava 2019, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.mechanisms.catalogue import ChannelRequest


@dataclass(frozen=True, slots=True)
class OneOf(Channel):
    """The channel from m answers, each 0 or 1, to one of them.

    Attributes:
        inputs: m, at least 1: an input is a sequence of m answers.
        keep_numerator: the probability that the drawn answer is kept, times 2**64.

    """

    name: ClassVar[str] = "one-of"

    inputs: int
    keep_numerator: int

    @classmethod
    def build(cls, request: ChannelRequest) -> OneOf:
        """Return the channel that asks whether a set contains one of its values."""
        return cls.within(request.epsilon, request.size - 1)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, metrics: int) -> OneOf:
        """Return the channel with the largest keep-probability within the requested epsilon."""
        return cls(metrics, int(COIN_SCALE * epsilon.odds / (epsilon.odds + 1)))

    @property
    def symbols(self) -> int:
        """The number of symbols: no and yes to each question."""
        return 2 * self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the law."""
        return {"inputs": self.inputs, "keep_numerator": self.keep_numerator}

    @property
    def worst_ratio(self) -> Fraction:
        """P(keep) / P(lie)."""
        return Fraction(self.keep_numerator, COIN_SCALE - self.keep_numerator)

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), for an answer to each question."""
        metric, said = divmod(symbol, 2)
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        return (keep if said == given[metric] else 1 - keep) / self.inputs

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the kept or opposite answer to a question that is drawn before any is read."""
        metric = coins.below(self.inputs)
        keep = coins.bernoulli(self.keep_numerator)
        return 2 * metric + (value[metric] if keep else 1 - value[metric])
