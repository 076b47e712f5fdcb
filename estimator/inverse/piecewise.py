"""Piecewise mean inverted: each symbol speaks for an answer, and the mean of those is the mean.

Source: Wang et al. 2019, section III.B (lemma 1), on the grid.
"""

from __future__ import annotations

from functools import lru_cache

from client_sdk.spec.mechanisms.piecewise import Piecewise
from estimator.inverse import band
from estimator.inverse.decoder import REMEMBERED, Decoder, floats


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Piecewise) -> Decoder:
    """Return the answers of the symbols and what their squares are on average."""
    answers = floats(band.answers(channel))
    return Decoder(answers, band.expectations(channel, answers**2))
