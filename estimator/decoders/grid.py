"""The law of a channel whose inputs are the points of a grid."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.band import Band
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.hybrid import Hybrid
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from estimator.decoders import band, hierarchical, noise, optimal_mean
from estimator.decoders.hybrid import HybridLaw
from estimator.decoders.protocol import ChannelLaw, TableLaw
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True)
class BandLaw:
    """The law of a sliding band, computed in O(symbols) steps."""

    band: Band

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        return band.symbol_law(self.band, shares)

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input."""
        return band.expectations(self.band, scores)


def grid_law(channel: Channel) -> ChannelLaw:
    """Return the law of a band, of a hybrid, of added noise, of a tree, or of an optimal mean.

    Raises:
        TypeError: if the channel's inputs are not the points of a grid.

    """
    match channel:
        case Band():
            return BandLaw(channel)
        case Hybrid():
            return HybridLaw(channel)
        case AdditiveNoise():
            return TableLaw(noise.table(channel))
        case Hierarchical():
            return hierarchical.law(channel)
        case OptimalMean():
            return optimal_mean.law(channel)
    raise TypeError(f"{channel.name} has no grid")
