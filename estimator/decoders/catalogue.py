"""The decoder of each channel whose inputs are the points of a grid."""

from __future__ import annotations

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.decoders import gaussian, hierarchical, laplace, optimal_mean, square_wave
from estimator.decoders.decoder import Decoder


def decoder_of(channel: Channel) -> Decoder | None:
    """Return the decoder of a channel on a grid. None for other channels."""
    match channel:
        case SquareWave():
            return square_wave.decoder(channel)
        case Laplace():
            return laplace.decoder(channel)
        case Gaussian():
            return gaussian.decoder(channel)
        case OptimalMean():
            return optimal_mean.decoder(channel)
        case Hierarchical():
            return hierarchical.decoder(channel)
    return None
