"""The decoder of each channel whose inputs are the points of a grid."""

from __future__ import annotations

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hybrid import Hybrid
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.piecewise import Piecewise
from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.inverse import gaussian, hybrid, laplace, piecewise, square_wave
from estimator.inverse.decoder import Decoder


def decoder_of(channel: Channel) -> Decoder | None:
    """Return the decoder of a channel on a grid. None for other channels."""
    match channel:
        case Piecewise():
            return piecewise.decoder(channel)
        case Hybrid():
            return hybrid.decoder(channel)
        case SquareWave():
            return square_wave.decoder(channel)
        case Laplace():
            return laplace.decoder(channel)
        case Gaussian():
            return gaussian.decoder(channel)
    return None
