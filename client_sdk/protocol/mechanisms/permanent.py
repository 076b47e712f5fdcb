"""A permanent answer, and a fresh randomisation of it for each report.

Sources: Erlingsson, Pihur & Korolova 2014, "RAPPOR: randomized aggregatable privacy-preserving ordinal response",
section 2 and 3.1; Arcolezi, Pinzón, Palamidessi & Gambs 2023, "Frequency estimation of evolving data under local
differential privacy", section 3 (longitudinal k-ary randomised response).

The permanent answer is k-ary randomised response of the true one; the device makes it with coins that depend on its
secret and the answer alone, so that the same answer always gets the same permanent answer. What any number of reports
reveals of an answer that does not change is therefore bounded by the permanent epsilon.

What one more report reveals, whatever was reported before, is bounded by the epsilon of the instantaneous step, and
that is what is declared. (The epsilon of the two steps together is smaller, but it does not add up over reports: after
many reports the permanent answer may be known, and then the next report of another answer is hidden by one step only.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from client_sdk.protocol.channel import PURE, Channel, Coins, epsilon_nanos
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse

OFFSET, PERMANENT = "rounding offset", "permanent answer"
"""What a permanent answer is made with, each of them coins of its own."""

CoinsOf = Callable[..., Coins]
"""From labels to the coins that a device tosses once for all for them."""


@dataclass(frozen=True, slots=True)
class Permanent:
    """The product of two channels.

    Attributes:
        permanent: from an answer to its permanent answer.
        instantaneous: from a permanent answer to a report; it has as many inputs.

    """

    delta: ClassVar[Fraction] = PURE

    permanent: KAryRandomizedResponse
    instantaneous: Channel

    @property
    def name(self) -> str:
        """The name of the instantaneous step, marked."""
        return f"permanent {self.instantaneous.name}"

    @property
    def inputs(self) -> int:
        """As many as there are answers."""
        return self.permanent.inputs

    @property
    def symbols(self) -> int:
        """Those of the instantaneous step."""
        return self.instantaneous.symbols

    @property
    def integers(self) -> dict[str, int | tuple[int, ...]]:
        """The integers that define both laws."""
        return {"permanent_keep_numerator": self.permanent.keep_numerator, **self.instantaneous.integers}

    @property
    def worst_ratio(self) -> Fraction:
        """What one more report can shift odds by at most, whatever was reported before."""
        return self.instantaneous.worst_ratio

    @property
    def permanent_nanos(self) -> int:
        """The epsilon of a permanent answer in billionths, rounded up: what all reports of one answer reveal."""
        return epsilon_nanos(self.permanent)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given) of one report."""
        return sum(
            (
                self.permanent.probability(answer, given) * self.instantaneous.probability(symbol, answer)
                for answer in range(self.inputs)
            ),
            Fraction(0),
        )

    def settle(self, encode: Callable[[Coins], int], coins_of: CoinsOf, *labels: str) -> tuple[int, int]:
        """Return the input symbol of an answer and its permanent answer; run on the device.

        A number is rounded to an end of its range by an offset that is drawn once a metric, so that it keeps its end,
        and with it the permanent answer, while it drifts a little (Ding, Kulkarni & Yekhanin 2017, section 3.2,
        alpha-point rounding). Which of its values share an end depends on their distance, so that a pattern of numbers
        bounds nothing.

        Args:
            encode: from the coins of the offset to the input symbol of the answer.
            coins_of: the device's; the same coins for the same labels.
            labels: of the metric: no other one shares its coins.

        """
        value = encode(coins_of(OFFSET, *labels))
        return value, self.permanent.perturb(value, coins_of(PERMANENT, *labels, str(value)))

    def perturb(self, value: int, coins: Coins) -> int:
        """Return the first report of a device; later ones come from the same permanent answer."""
        return self.instantaneous.perturb(self.permanent.perturb(value, coins), coins)
