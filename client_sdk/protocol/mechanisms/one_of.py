"""One-of: a device draws one of several yes-or-no answers, and reports it by randomized response.

An input consists of m answers, each "yes" or "no". For a set, answer j says whether value j is a
member. The device draws one answer, independently of the answers' values. The device reports the
drawn answer with a known probability, and otherwise the opposite. The symbol reveals the drawn
answer: 2 j + 1 means "yes" for answer j, and 2 j means "no". Each answer's randomized response has
the same epsilon, and so does the whole channel. This epsilon is valid even for two inputs that
differ in all answers.

Suppose that n devices report, and that answer j is "yes" on a share x of them. About n / m reports
concern answer j. The variance of the estimate of x, times n, is m e**epsilon / (e**epsilon - 1)**2
+ m x (1 - x). The term m x (1 - x) is the sampling error. If mutually exclusive categories can
replace the answers, a metric with these categories has a smaller variance. For example, the shares
of numbers above each of T thresholds should be estimated from reports about the T + 1 ranges that
the thresholds separate, instead of one answer for each threshold.

Sources: Warner 1965, for one answer; Cormode, Kulkarni & Srivastava 2019, section 4, for drawing
one answer (hierarchical histograms draw a level).
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
        keep_numerator: the probability that the drawn answer is reported unchanged, times 2**64.
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
        """Return the channel with the largest `keep_numerator` that ``epsilon`` allows."""
        return cls(metrics, int(COIN_SCALE * epsilon.odds / (epsilon.odds + 1)))

    @property
    def symbols(self) -> int:
        """The number of symbols: a "no" and a "yes" for each answer."""
        return 2 * self.inputs

    @property
    def integers(self) -> dict[str, int]:
        """The integers that define the channel, keyed by name."""
        return {"inputs": self.inputs, "keep_numerator": self.keep_numerator}

    @property
    def worst_ratio(self) -> Fraction:
        """The probability of the drawn answer, divided by the probability of the opposite."""
        return Fraction(self.keep_numerator, COIN_SCALE - self.keep_numerator)

    def probability(self, symbol: int, given: Sequence[int]) -> Fraction:
        """Return P(symbol | given), where ``given`` has m answers."""
        metric, said = divmod(symbol, 2)
        keep = Fraction(self.keep_numerator, COIN_SCALE)
        return (keep if said == given[metric] else 1 - keep) / self.inputs

    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        """Return the symbol for a randomly drawn answer. The draw is independent of the answers."""
        metric = coins.below(self.inputs)
        keep = coins.bernoulli(self.keep_numerator)
        return 2 * metric + (value[metric] if keep else 1 - value[metric])
