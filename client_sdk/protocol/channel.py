"""A mechanism is a finite channel: each input symbol has a distribution over output symbols.

A report is one output symbol. A tally counts the reports of each symbol, and contains all
information in the reports. The estimator inverts the channel. `Channel.integers` alone determine
the privacy of a report (Dwork & Roth 2014, definition 2.4, for a finite alphabet).

Coins are the random decisions of a channel. Callers pass coins as an argument.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

from client_sdk.protocol.epsilon import PURE, nanos_ceiling

COIN_SCALE = 2**64
"""The denominator of a coin's probability. Numerators range from 0 to COIN_SCALE."""


class Coins(Protocol):
    """A source of random decisions, such as the operating system's random number generator."""

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64."""


MOST_LIKELIEST: Final = 4
"""If more inputs than this number are equally likely, `Channel.likeliest` may omit some."""


class Channel(ABC):
    """The probability of each output symbol for each input.

    The number of coins that ``perturb`` draws depends only on the reported symbol. Therefore the
    running time and the state of the random generator reveal nothing that the report does not
    reveal.

    Attributes:
        inputs: the number of input symbols, k. The input symbols are the integers 0..k-1. For a
            channel of vectors, k is the dimension, and an input is a vector of k integers.
        says_truth: whether each symbol names one input, and all inputs have the same probability of
            being reported unchanged.
        turns: whether the channel rotates vectors, and therefore differs between windows.
    """

    __slots__ = ()

    says_truth: ClassVar[bool] = False
    turns: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The mechanism's name in the registry."""

    if TYPE_CHECKING:  # most channels have this as a field, and a property would become the field's default

        @property
        @abstractmethod
        def inputs(self) -> int: ...  # noqa: D102 described above

    @property
    @abstractmethod
    def symbols(self) -> int:
        """The number of output symbols, m. The output symbols are the integers 0..m-1."""

    @property
    @abstractmethod
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        """The integers that define the channel, keyed by name. `Metric.edition` depends on them."""

    @property
    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The exact e**epsilon, which is the largest P(symbol|x) / P(symbol|x') if `delta` is 0.

        If `delta` is above 0, some ratios are larger, and `delta` limits their effect.
        """

    @property
    def delta(self) -> Fraction:
        """The delta of differential privacy for the epsilon of `worst_ratio`.

        The delta is the maximum over inputs x and x' of this sum over all symbols: max(0,
        P(symbol|x) - worst_ratio * P(symbol|x')). For most mechanisms, the delta is 0 (`PURE`).
        """
        return PURE

    def chance_beyond(self, ratio: Fraction) -> Fraction:  # noqa: ARG002 used by one mechanism
        """Return the probability that a report shifts the odds by a factor above ``ratio``.

        A report shifts the odds this far if its symbol is more than ``ratio`` times as likely for
        one input as for another.
        """
        return PURE

    @property
    def last_step(self) -> Channel:
        """The channel of the last random step, such as the perturbation of a permanent answer."""
        return self

    @property
    def permanent_nanos(self) -> int:
        """The limit on the total epsilon of all reports about an unchanged answer.

        The limit is in billionths; 0 means that there is no limit.
        """
        return 0

    @abstractmethod
    def probability(self, symbol: int, given: Any) -> Fraction:  # noqa: ANN401 an input is a symbol or a vector
        """Return P(symbol | input ``given``), exactly."""

    @abstractmethod
    def perturb(self, value: Any, coins: Coins) -> int:  # noqa: ANN401 an input is a symbol or a vector
        """Return the symbol that a device reports for the input ``value``."""

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the most likely inputs for a symbol, in ascending order.

        If more than `MOST_LIKELIEST` inputs are equally likely, the result may omit some of them.
        """
        if self.says_truth:
            return (symbol,)
        chances = [self.probability(symbol, given) for given in range(self.inputs)]
        greatest = max(chances)
        return [given for given, chance in enumerate(chances) if chance == greatest]

    def in_window(self, window: str) -> Self:  # noqa: ARG002 used for vectors
        """Return the channel for a window: this channel itself, unless `turns` is true."""
        return self


def epsilon_nanos(channel: Channel) -> int:
    """Return the charge for one report: the exact epsilon in billionths, rounded up."""
    return nanos_ceiling(channel.worst_ratio)
