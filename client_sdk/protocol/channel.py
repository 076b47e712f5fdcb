"""A mechanism is a finite channel: an input symbol in, a distribution over output symbols out.

Everything follows from that: a report is one output symbol; what must be kept of n reports is their tally; estimation
inverts the channel; privacy is a property of the channel's integers (Dwork & Roth 2014, definition 2.4, for a finite
alphabet).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from client_sdk.protocol.epsilon import nanos_ceiling

COIN_BITS = 64
COIN_SCALE = 2**COIN_BITS
"""Denominator of every coin: a numerator from 0 to COIN_SCALE is a probability."""


PURE = Fraction(0)
"""The delta of a mechanism whose epsilon holds without exception."""


class Coins(Protocol):
    """Where random decisions come from. The SDK's are fresh from the operating system; a test scripts them."""

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64."""


class Channel(Protocol):
    """What every mechanism is.

    The number of coins that ``perturb`` asks for is the same for every input, so that neither running time nor the
    state of a generator tells anything.
    """

    @property
    def name(self) -> str:
        """The mechanism's name, as in the registry."""

    @property
    def inputs(self) -> int:
        """How many input symbols there are: k, the integers 0..k-1."""

    @property
    def symbols(self) -> int:
        """How many output symbols there are: m, the integers 0..m-1."""

    @property
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        """The integers that define the law; they are part of the edition."""

    @property
    def worst_ratio(self) -> Fraction:
        """The largest P(symbol|x) / P(symbol|x') over symbols and inputs, but for `delta`: e to the exact epsilon."""

    @property
    def delta(self) -> Fraction:
        """The most by which a probability exceeds `worst_ratio` times that of another input; `PURE` for most.

        Exact: the largest sum over symbols of max(0, P(symbol|x) - worst_ratio * P(symbol|x')).
        """

    def __hash__(self) -> int:
        """Hash by the law: channels are equal where their integers are."""

    def probability(self, symbol: int, given: int) -> Fraction:
        """Return P(symbol | input ``given``), exactly."""

    def perturb(self, value: int, coins: Coins) -> int:
        """Return the symbol to report for the input ``value``, from 0 to k-1. Run on the device."""


def epsilon_nanos(channel: Channel) -> int:
    """Return the channel's exact epsilon in billionths, rounded up: what one report is charged."""
    return nanos_ceiling(channel.worst_ratio)
