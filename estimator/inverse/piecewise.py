"""Piecewise mean inverted: the mean of the symbols' unbiased scores is the mean.

Source: Wang et al. 2019, section III.B (lemma 1), on the grid.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.piecewise import Piecewise
from estimator.inverse import band
from estimator.inverse.decoder import Decoder


def decoder(channel: Piecewise) -> Decoder:
    """Return the scores of the symbols and their expected squares."""
    return band.decoder(channel)
