"""Coins: the random decisions of a mechanism, which are an argument and never drawn in here."""

from __future__ import annotations

from typing import Protocol

COIN_SCALE = 2**64
"""Denominator of every coin: a numerator from 0 to COIN_SCALE is a probability."""


class Coins(Protocol):
    """A source of random decisions: the operating system in the SDK, a script in a test."""

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64."""
