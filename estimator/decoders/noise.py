"""Decoders of the mean for additive Laplace and Gaussian noise.

A device reports the position of its input on a grid, plus noise. The score of a symbol is its
position. Gaussian noise is symmetric and never clipped, so the expected score is exactly the
position of the input.

With Laplace noise, a position beyond an end of the range is clipped to this end. The probability of
the noise falls by a factor f per grid step (Ghosh, Roughgarden & Sundararajan 2012). Before
clipping, the positions that are reported as an end lie f / (1 - f) steps beyond the end on average.
The scores of both ends are moved outward by this distance, which makes the scores unbiased. The
rounding of probabilities to integer weights shifts the expectation by less than one part in 2**32.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.noise import AdditiveNoise
from estimator.decoders.decoder import REMEMBERED, Decoder, TableLaw, floats
from estimator.statistics.arrays import Floats


@lru_cache(maxsize=REMEMBERED)
def table(channel: AdditiveNoise) -> Floats:
    """Return the probability of each symbol for each input, shape (inputs, symbols)."""
    farthest = len(channel.weights) - 1
    weights = np.array([float(channel.weights[abs(noise)]) for noise in range(-farthest, farthest + 1)])
    noise = np.arange(-farthest, farthest + 1) + channel.reach
    rows = [
        np.bincount(np.clip(given + noise, 0, channel.symbols - 1), weights, channel.symbols)
        for given in range(channel.inputs)
    ]
    law: Floats = np.array(rows) / weights.sum()
    return law


def law(channel: AdditiveNoise) -> TableLaw:
    """Return the distribution of the channel's symbols, as a table."""
    return TableLaw(table(channel))


@lru_cache(maxsize=REMEMBERED)
def gaussian_decoder(channel: Gaussian) -> Decoder:
    """Return the unbiased scores of the symbols, and the expected squared score of each input."""
    scores = (np.arange(channel.symbols) - channel.reach) / (channel.inputs - 1)
    return Decoder(scores, table(channel) @ scores**2)


def laplace_scores(channel: Laplace) -> list[Fraction]:
    """Return the exact unbiased score of each symbol, with inputs on a scale from 0 to 1."""
    last = channel.inputs - 1
    beyond = Fraction(channel.weights[-1], channel.weights[-2])
    return [-beyond / last, *(Fraction(place, last) for place in range(1, last)), 1 + beyond / last]


@lru_cache(maxsize=REMEMBERED)
def laplace_decoder(channel: Laplace) -> Decoder:
    """Return the unbiased scores of the symbols, and the expected squared score of each input."""
    of_symbols = floats(laplace_scores(channel))
    return Decoder(of_symbols, table(channel) @ np.square(of_symbols))
