"""Square wave inverted, for the mean: each symbol speaks for an answer; the histogram is `estimator.likelihood.histogram`.

Source: Li et al. 2020, section 5.3, on the grid.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.inverse import band
from estimator.inverse.decoder import Decoder


def decoder(channel: SquareWave) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    return band.decoder(channel)
