"""Hybrid mean inverted: symbols of the band have piecewise scores, the ends have one-bit scores.

Source: Wang et al. 2019, section III.C. Both parts are unbiased, so their mixture is as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.hybrid import Hybrid
from estimator.decoders import band
from estimator.decoders.decoder import REMEMBERED, Decoder, floats
from estimator.statistics.arrays import Floats


def scores(channel: Hybrid) -> list[Fraction]:
    """Return the exact unbiased score of each symbol, where 0 is the first input and 1 the last."""
    return [*band.scores(channel.band), *_scores_of_ends(channel)]


def _scores_of_ends(channel: Hybrid) -> tuple[Fraction, Fraction]:
    beyond = Fraction(channel.least, channel.step * (channel.inputs - 1))
    return -beyond, 1 + beyond


@dataclass(frozen=True, slots=True)
class HybridLaw:
    """The law of the mixture, as operators on one population or on many."""

    channel: Hybrid

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol: shape (..., inputs) to (..., symbols)."""
        of_band = self.channel.band.total * band.symbol_law(self.channel.band, shares)
        towards_high = _towards_high(self.channel)
        ends = np.stack([shares @ towards_high[::-1], shares @ towards_high], axis=-1)
        law: Floats = np.concatenate([of_band, ends], axis=-1) / self.channel.total
        return law

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score given each input: shape (..., symbols) to (..., inputs)."""
        of_band, low, high = scores[..., :-2], scores[..., -2:-1], scores[..., -1:]
        towards_high = _towards_high(self.channel)
        of_ends = towards_high[::-1] * low + towards_high * high
        expected: Floats = self.channel.band.total * band.expectations(self.channel.band, of_band) + of_ends
        return expected / self.channel.total


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: Hybrid) -> Decoder:
    """Return the scores of the symbols and their expected squares."""
    of_symbols = np.concatenate([band.float_scores(channel.band), floats(_scores_of_ends(channel))])
    return Decoder(of_symbols, HybridLaw(channel).expectations(of_symbols**2))


def _towards_high(channel: Hybrid) -> Floats:
    """Return the weight of the high end given each input. The low end has them reversed."""
    weights: Floats = channel.least + channel.step * np.arange(channel.inputs, dtype=np.float64)
    return weights
