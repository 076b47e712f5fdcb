"""Permanent answers: an answer is randomized once, and the result once more for each report.

Sources: Erlingsson, Pihur & Korolova 2014, "RAPPOR: randomized aggregatable privacy-preserving
ordinal response", section 2 and 3.1; Arcolezi, Pinzón, Palamidessi & Gambs 2023, "Frequency
estimation of evolving data under local differential privacy", section 3 (longitudinal k-ary
randomized response).

The permanent answer is the result of k-ary randomized response to the true answer. The device draws
it with coins that depend only on its secret and the answer, so that equal answers always have the
same permanent answer. Therefore the permanent epsilon limits how much any number of reports reveals
about an unchanged answer. The limit applies within one edition. The labels of the coins contain the
edition, so that devices draw new permanent answers for a new edition.

The second step, which randomizes the permanent answer in each report, is called instantaneous. Its
epsilon is the question's epsilon. It limits how much one more report reveals after any earlier
reports. The epsilon of a report through both steps is smaller, but cannot be added up over reports.
After many reports, the permanent answer may be known, and then only the instantaneous step protects
the next report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from client_sdk.protocol.channel import Channel, Coins, epsilon_nanos
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse

OFFSET, PERMANENT = "rounding offset", "permanent answer"
"""The labels of coins for rounding a number, and of coins for drawing a permanent answer."""

CoinsOf = Callable[..., Coins]
"""A function that returns a device's coins for some labels. Equal labels always get equal coins."""


@dataclass(frozen=True, slots=True)
class Permanent(Channel):
    """Two channels in sequence. The first yields a permanent answer, the second one a report.

    Attributes:
        permanent: the channel from an answer to its permanent answer.
        instantaneous: the channel from a permanent answer to a report, with the same inputs.

    """

    permanent: KAryRandomizedResponse
    instantaneous: Channel

    @property
    def name(self) -> str:
        """The name of the instantaneous step's mechanism, prefixed with "permanent"."""
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
        """The integers that define both steps."""
        return {"permanent_keep_numerator": self.permanent.keep_numerator, **self.instantaneous.integers}

    @property
    def worst_ratio(self) -> Fraction:
        """The maximum factor by which one more report shifts odds, after any earlier reports."""
        return self.instantaneous.worst_ratio

    @property
    def last_step(self) -> Channel:
        """The instantaneous step, from a permanent answer to a report."""
        return self.instantaneous

    @property
    def permanent_nanos(self) -> int:
        """The epsilon of all reports of an unchanged answer together, in billionths, rounded up."""
        return epsilon_nanos(self.permanent)

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | given) for a single report, through both steps."""
        kept = self.permanent.probability(given, given)
        replaced = (1 - kept) / (self.inputs - 1)  # the probability of each other answer
        of_all = sum((self.instantaneous.probability(symbol, answer) for answer in range(self.inputs)), Fraction(0))
        return replaced * of_all + (kept - replaced) * self.instantaneous.probability(symbol, given)

    def settle(self, encode: Callable[[Coins], int], coins_of: CoinsOf, *labels: str) -> tuple[int, int]:
        """Return the input that encodes an answer, and its permanent answer. Devices call this.

        A number is rounded to an end of its range by a random offset, which is drawn once per
        metric. Therefore a small change of the number rarely changes the end, and thus rarely
        changes the permanent answer (Ding, Kulkarni & Yekhanin 2017, section 3.2, alpha-point
        rounding).

        Args:
            encode: a function that returns the input that encodes the answer. It gets the coins for
                rounding a number.
            coins_of: a function that returns the device's coins for some labels.
            labels: labels that identify the metric.

        """
        value = encode(coins_of(OFFSET, *labels))
        return value, self.permanent.perturb(value, coins_of(PERMANENT, *labels, str(value)))

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the permanent answers for which a symbol is most likely."""
        return self.instantaneous.likeliest(symbol)

    def perturb(self, value: int, coins: Coins) -> int:
        """Return a report for an answer whose permanent answer has not been drawn yet.

        On a device, later reports would use the same permanent answer.
        """
        return self.instantaneous.perturb(self.permanent.perturb(value, coins), coins)
