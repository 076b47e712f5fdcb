"""Decoders of the mean for additive Laplace and Gaussian noise.

The score of a symbol is its position. Gaussian noise is symmetric and never clipped, so the
expected position is exactly the input.

Laplace noise is clipped to the ends of the range. Its probability falls by a factor f with each
position (Ghosh, Roughgarden & Sundararajan 2012). For every input, the symbols that are clipped at
an end would lie f / (1 - f) positions beyond this end on average. The scores of the ends are moved
outward by this amount, so that the expected score is the input. The weights of the distribution are
integers, which changes the expectation by less than one part in 2**32.
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
    """Return the probability of each symbol given each input, shape (inputs, symbols)."""
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
    """Return the channel's distribution on a grid, as a table."""
    return TableLaw(table(channel))


@lru_cache(maxsize=REMEMBERED)
def gaussian_decoder(channel: Gaussian) -> Decoder:
    """Return the scores of the symbols, and the expected squares of the scores."""
    scores = (np.arange(channel.symbols) - channel.reach) / (channel.inputs - 1)
    return Decoder(scores, table(channel) @ scores**2)


def laplace_scores(channel: Laplace) -> list[Fraction]:
    """Return the unbiased score of each symbol. The first input is 0, and the last is 1."""
    last = channel.inputs - 1
    beyond = Fraction(channel.weights[-1], channel.weights[-2])
    return [-beyond / last, *(Fraction(place, last) for place in range(1, last)), 1 + beyond / last]


@lru_cache(maxsize=REMEMBERED)
def laplace_decoder(channel: Laplace) -> Decoder:
    """Return the scores of the symbols, and the expected squares of the scores."""
    of_symbols = floats(laplace_scores(channel))
    return Decoder(of_symbols, table(channel) @ np.square(of_symbols))
