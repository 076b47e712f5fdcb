"""One of several yes-or-no questions is drawn at random, and answered by randomized response.

An input consists of m answers, each yes or no. For a set, for example, answer j says whether value
j is a member. A coin that does not depend on the answers draws one question. The answer to this
question is kept with a known probability; otherwise, the opposite is reported. The symbol reveals
the question: 2 j + 1 is yes to question j, and 2 j is no. Each question's randomized response has
the same epsilon, and so does the mixture. This epsilon is valid for any two inputs, even if all
their answers differ, because the draw of the question does not depend on the answers.

Suppose that n devices report, and that a share x of them would answer yes to one question. About n
/ m reports are about this question. Therefore n times the variance of the estimate of x is m
e**epsilon / (e**epsilon - 1)**2 + m x (1 - x), where the second term is the sampling error. Answers
that exclude each other should be reported as one category instead. For example, consider the shares
above T thresholds. Their variance is smaller, at every epsilon, if a report names one of the T + 1
cells between the thresholds.

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
    """The channel from m answers, each 0 or 1, to a report about one of them.

    Attributes:
        inputs: m, the number of answers in an input, at least 1.
        keep_numerator: the probability that the drawn answer is kept, times 2**64.

    """

    name: ClassVar[str] = "one-of"

    inputs: int
    keep_numerator: int

    @classmethod
    def build(cls, request: ChannelRequest) -> OneOf:
        """Return the channel that reports whether a set contains a randomly drawn value."""
        return cls.within(request.epsilon, request.size - 1)

    @classmethod
    def within(cls, epsilon: RequestedEpsilon, metrics: int) -> OneOf:
        """Return the channel that keeps answers with the largest probability epsilon allows."""
        return cls(metrics, int(COIN_SCALE * epsilon.odds / (epsilon.odds + 1)))

    @property
    def symbols(self) -> int:
        """The number of symbols: a no and a yes for each question."""
        return 2 * self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that determine all probabilities of the channel, by name."""
        return {"inputs": self.inputs, "keep_numerator": self.keep_numerator}

    @property
    def worst_ratio(self) -> Fraction:
        """The probability that the drawn answer is kept, divided by that of the opposite."""
        return Fraction(self.keep_numerator, COIN_SCALE - self.keep_numerator)

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` has an answer to each question."""
        metric, said = divmod(symbol, 2)
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        return (keep if said == given[metric] else 1 - keep) / self.inputs

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the symbol for a random question; its draw does not depend on the answers."""
        metric = coins.below(self.inputs)
        keep = coins.bernoulli(self.keep_numerator)
        return 2 * metric + (value[metric] if keep else 1 - value[metric])
