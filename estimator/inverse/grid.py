"""The law of a channel whose inputs are the points of a grid, as operators on many populations at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.band import Band
from client_sdk.protocol.mechanisms.hybrid import Hybrid
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from estimator.inverse import band, noise
from estimator.inverse.hybrid import HybridLaw
from estimator.statistics.arrays import Floats


class GridLaw(Protocol):
    """What a channel does to the shares of its inputs, and back."""

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol: shape (..., inputs) to (..., symbols)."""

    def expectations(self, values: Floats) -> Floats:
        """Return the expected value of a symbol given each input: shape (..., symbols) to (..., inputs)."""


@dataclass(frozen=True, slots=True)
class BandLaw:
    """That of a sliding band, in as many steps as there are symbols."""

    band: Band

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        return band.symbol_law(self.band, shares)

    def expectations(self, values: Floats) -> Floats:
        """Return the expected value of a symbol given each input."""
        return band.expectations(self.band, values)


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """That of a table, shape (inputs, symbols)."""

    table: Floats

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        law: Floats = shares @ self.table
        return law

    def expectations(self, values: Floats) -> Floats:
        """Return the expected value of a symbol given each input."""
        expected: Floats = values @ self.table.T
        return expected


def grid_law(channel: Channel) -> GridLaw:
    """Return the law of a band, of a mixture with one, or of added noise."""
    match channel:
        case Band():
            return BandLaw(channel)
        case Hybrid():
            return HybridLaw(channel)
        case AdditiveNoise():
            return TableLaw(noise.table(channel))
    raise TypeError(f"{channel.name} has no grid")
