"""A mechanism is a finite channel: an input symbol in, a distribution over output symbols out.

Everything follows from that. A report is one output symbol. The tally of n reports holds all that
they say. Estimation inverts the channel. Privacy is a property of the channel's integers (Dwork &
Roth 2014, definition 2.4, for a finite alphabet).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.epsilon import nanos_ceiling


class Channel(Protocol):
    """The interface of every mechanism.

    The number of coins that ``perturb`` draws depends on the symbol alone, which is reported. So
    neither its running time nor the state of a generator reveals more of the input.
    """

    @property
    def name(self) -> str:
        """The mechanism's name in the registry."""

    @property
    def inputs(self) -> int:
        """The number of input symbols, k; they are the integers 0..k-1.

        Of a channel for vectors it is their dimension: an input is a vector of k integers.
        """

    @property
    def symbols(self) -> int:
        """The number of output symbols, m; they are the integers 0..m-1."""

    @property
    def integers(self) -> Mapping[str, int | tuple[int, ...]]:
        """The integers that define the law; they are part of the edition."""

    @property
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

    def __hash__(self) -> int:
        """Hash by the law: channels with equal integers are equal."""

    def probability(self, symbol: int, given: Any) -> Fraction:  # noqa: ANN401 a symbol, or a vector
        """Return P(symbol | input ``given``), exactly."""

    def perturb(self, value: Any, coins: Coins) -> int:  # noqa: ANN401 a symbol, or a vector
        """Return the symbol to report for the input ``value``, from 0 to k-1. Run on the device."""


def epsilon_nanos(channel: Channel) -> int:
    """Return the channel's exact epsilon in billionths, rounded up: the charge for one report."""
    return nanos_ceiling(channel.worst_ratio)
