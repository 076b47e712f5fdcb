"""Square wave inverted: a histogram of bins whose ends are the inputs, and its unbiased mean.

Source: Li et al. 2020, section 5.3 and 5.4. An answer within a bin is rounded at random to one of the bin's ends, the
nearer the likelier; answers that are spread evenly over a bin are therefore rounded to each end half the time.
"""

from __future__ import annotations

import numpy as np

from client_sdk.spec.mechanisms.square_wave import SquareWave
from estimator.inverse import band
from estimator.inverse.decoder import Decoder
from estimator.inverse.support import Floats


def decoder(channel: SquareWave) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    return band.decoder(channel)


def symbol_law(channel: SquareWave, shares: Floats) -> Floats:
    """Return the probability of each symbol where bins have shares of sum 1: shape (..., bins) to (..., symbols)."""
    ends = np.zeros((*shares.shape[:-1], channel.inputs))
    ends[..., :-1] += shares / 2
    ends[..., 1:] += shares / 2
    return band.symbol_law(channel, ends)


def expectations(channel: SquareWave, values: Floats) -> Floats:
    """Return the expected value of a symbol given each bin: shape (..., symbols) to (..., bins)."""
    at_ends = band.expectations(channel, values)
    expected: Floats = (at_ends[..., :-1] + at_ends[..., 1:]) / 2
    return expected
