"""Permanent answers: an answer is randomized once; each report randomizes the result again.

Sources: Erlingsson, Pihur & Korolova 2014, "RAPPOR: randomized aggregatable privacy-preserving
ordinal response", section 2 and 3.1; Arcolezi, Pinzón, Palamidessi & Gambs 2023, "Frequency
estimation of evolving data under local differential privacy", section 3 (longitudinal k-ary
randomized response).

The first step draws the permanent answer from the true answer by k-ary randomized response. The
coins for this step depend only on the device's secret, the metric and the answer. Equal answers
therefore have equal permanent answers, and the permanent epsilon limits what all reports together
reveal about an unchanged answer. The limit applies to one edition of the metric's definition,
because devices draw new permanent answers for a new edition.

The second step, called *instantaneous*, randomizes the permanent answer again for each report, with
the metric's epsilon. The metric's epsilon limits what one more report reveals after any earlier
reports. A single report through both steps has a smaller epsilon. But the epsilon of several
reports is not the sum of these smaller epsilons. After many reports, the permanent answer may be
known. Only the instantaneous step then protects the next report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from client_sdk.protocol.channel import Channel, Coins, epsilon_nanos
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse

OFFSET, PERMANENT = "rounding offset", "permanent answer"
"""The labels of the coins that round a number, and of the coins that draw a permanent answer."""

CoinsOf = Callable[..., Coins]
"""A function from labels to a device's coins. Equal labels always get equal coins."""


@dataclass(frozen=True, slots=True)
class Permanent(Channel):
    """Two channels in sequence: from an answer to a permanent answer, and then to a report.

    Attributes:
        permanent: the channel from an answer to its permanent answer.
        instantaneous: the channel from a permanent answer to a report. Both channels
            have the same inputs.
    """

    permanent: KAryRandomizedResponse
    instantaneous: Channel

    @property
    def name(self) -> str:
        """The instantaneous mechanism's name, prefixed with "permanent"."""
        return f"permanent {self.instantaneous.name}"

    @property
    def inputs(self) -> int:
        """The number of possible answers."""
        return self.permanent.inputs

    @property
    def symbols(self) -> int:
        """The number of symbols of the instantaneous step."""
        return self.instantaneous.symbols

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define the channels of both steps."""
        return {"permanent_keep_numerator": self.permanent.keep_numerator, **self.instantaneous.integers}

    @property
    def worst_ratio(self) -> Fraction:
        """The maximum factor by which one more report shifts the odds of two answers."""
        return self.instantaneous.worst_ratio

    @property
    def last_step(self) -> Channel:
        """The instantaneous step, from a permanent answer to a report."""
        return self.instantaneous

    @property
    def permanent_nanos(self) -> int:
        """The maximum epsilon of all reports on an unchanged answer, in billionths, rounded up."""
        return epsilon_nanos(self.permanent)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given) for a single report, through both steps."""
        kept = self.permanent.probability(given, given)
        replaced = (1 - kept) / (self.inputs - 1)  # the probability of each other answer
        of_all = sum((self.instantaneous.probability(symbol, answer) for answer in range(self.inputs)), Fraction(0))
        return replaced * of_all + (kept - replaced) * self.instantaneous.probability(symbol, given)

    def settle(self, encode: Callable[[Coins], int], coins_of: CoinsOf, *labels: str) -> tuple[int, int]:
        """Return an answer's encoding and permanent answer. Devices call this method.

        A number is rounded to an end of its range. The rounding uses a random offset, which is
        drawn once for each metric. Because of this fixed offset, a small change of the number
        rarely changes the permanent answer (Ding, Kulkarni & Yekhanin 2017, section 3.2,
        alpha-point rounding).

        ``encode`` encodes the answer, given the coins for rounding. ``labels`` identify the metric.
        """
        value = encode(coins_of(OFFSET, *labels))
        return value, self.permanent.perturb(value, coins_of(PERMANENT, *labels, str(value)))

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the most likely permanent answers for a symbol."""
        return self.instantaneous.likeliest(symbol)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a report for an answer, after drawing a new permanent answer."""
        return self.instantaneous.perturb(self.permanent.perturb(value, coins), coins)
