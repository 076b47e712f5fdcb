"""The law of a channel whose inputs are the points of a grid."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.decoders import hierarchical, noise, optimal_mean, square_wave
from estimator.decoders.protocol import ChannelLaw, TableLaw
from estimator.statistics.arrays import Floats


@dataclass(frozen=True, slots=True)
class SquareWaveLaw:
    """The law of a square wave, computed in O(symbols) steps."""

    channel: SquareWave

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        return square_wave.symbol_law(self.channel, shares)

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input."""
        return square_wave.expectations(self.channel, scores)


def grid_law(channel: Channel) -> ChannelLaw:
    """Return the law of a square wave, of added noise, of a tree, or of an optimal mean.

    Raises:
        TypeError: if the channel's inputs are not the points of a grid.

    """
    match channel:
        case SquareWave():
            return SquareWaveLaw(channel)
        case AdditiveNoise():
            return TableLaw(noise.table(channel))
        case Hierarchical():
            return hierarchical.law(channel)
        case OptimalMean():
            return optimal_mean.law(channel)
    raise TypeError(f"{channel.name} has no grid")
