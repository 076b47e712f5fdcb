"""Piecewise mean inverted: each symbol speaks for an answer, and the mean of those is the mean.

Source: Wang et al. 2019, section III.B (lemma 1), on the grid.
"""

from __future__ import annotations

from client_sdk.protocol.mechanisms.piecewise import Piecewise
from estimator.inverse import band
from estimator.inverse.decoder import Decoder


def decoder(channel: Piecewise) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    return band.decoder(channel)
