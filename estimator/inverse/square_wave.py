"""Square wave inverted, for the mean: every symbol has an unbiased score.

For the histogram see `estimator.likelihood.histogram`.

Source: Li et al. 2020, section 5.3, on the grid.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.inverse import band
from estimator.inverse.decoder import Decoder


def decoder(channel: SquareWave) -> Decoder:
    """Return the scores of the symbols and their expected squares."""
    return band.decoder(channel)
