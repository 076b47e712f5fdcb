"""A mechanism is a finite channel: an input symbol in, a distribution over output symbols out.

Everything follows from that. A report is one output symbol. The tally of n reports contains all
their information. Estimation inverts the channel. Privacy is a property of the channel's integers
(Dwork & Roth 2014, definition 2.4, for a finite alphabet).

Coins are the random decisions of a channel. They are an argument, and never drawn here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

from client_sdk.protocol.epsilon import PURE, nanos_ceiling

COIN_SCALE = 2**64
"""Denominator of every coin: a numerator from 0 to COIN_SCALE is a probability."""


class Coins(Protocol):
    """A source of random decisions: the operating system in the SDK, a script in a test."""

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64."""


MOST_LIKELIEST: Final = 4
"""If a symbol makes more inputs likeliest, at least this many of them are named."""


class Channel(ABC):
    """The law of a mechanism.

    The number of coins that ``perturb`` draws depends on the symbol alone, which is reported. Its
    running time and the state of a generator therefore reveal no more of the input.

    Attributes:
        inputs: the number of input symbols, k; they are the integers 0..k-1. For a channel for
            vectors it is their dimension: an input is a vector of k integers.
        says_truth: whether a symbol names one input, and names the true one with the same
            probability for each input.
        turns: whether the law of a vector changes from window to window.

    """

    __slots__ = ()

    says_truth: ClassVar[bool] = False
    turns: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The mechanism's name in the registry."""

    if TYPE_CHECKING:  # a field of most channels, for which a property would be a default

        @property
        @abstractmethod
        def inputs(self) -> int: ...  # noqa: D102 said above

    @property
    @abstractmethod
    def symbols(self) -> int:
        """The number of output symbols, m; they are the integers 0..m-1."""

    @property
    @abstractmethod
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        """The integers that define the law; they are part of the edition."""

    @property
    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The largest P(symbol|x) / P(symbol|x') over symbols and inputs: e to the exact epsilon.

        Where `delta` is above 0 this ratio may be exceeded, by as much as `delta` allows.
        """

    @property
    def delta(self) -> Fraction:
        """The most by which a probability exceeds `worst_ratio` times another input's.

        It is exact: the largest sum over symbols of max(0, P(symbol|x) - worst_ratio *
        P(symbol|x')). It is `PURE` for most mechanisms.
        """
        return PURE

    def chance_beyond(self, ratio: Fraction) -> Fraction:  # noqa: ARG002 of one mechanism
        """Return the chance that a report shifts odds beyond a ratio of at least `worst_ratio`."""
        return PURE

    @property
    def last_step(self) -> Channel:
        """The channel that draws the report: from a permanent answer, or a set's drawn member."""
        return self

    @property
    def permanent_nanos(self) -> int:
        """The maximum that all reports of one answer reveal, in billionths; 0 if they add up."""
        return 0

    @abstractmethod
    def probability(self, symbol: int, given: Any) -> Fraction:  # noqa: ANN401 a symbol, or a vector
        """Return P(symbol | input ``given``), exactly."""

    @abstractmethod
    def perturb(self, value: Any, coins: Coins) -> int:  # noqa: ANN401 a symbol, or a vector
        """Return the symbol to report for the input ``value``, from 0 to k-1. Run on the device."""

    def likeliest(self, symbol: int) -> Sequence[int]:
        """Return the inputs that give a symbol its largest probability, in rising order.

        If there are more than `MOST_LIKELIEST` inputs, the last ones may be left out.
        """
        if self.says_truth:
            return (symbol,)
        chances = [self.probability(symbol, given) for given in range(self.inputs)]
        greatest = max(chances)
        return [given for given, chance in enumerate(chances) if chance == greatest]

    def in_window(self, window: str) -> Self:  # noqa: ARG002 of vectors
        """Return the channel of a window, given the window's name."""
        return self


def epsilon_nanos(channel: Channel) -> int:
    """Return the channel's exact epsilon in billionths, rounded up: the charge for one report."""
    return nanos_ceiling(channel.worst_ratio)
