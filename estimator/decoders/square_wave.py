"""The decoder of a square wave, and its distribution of symbols, in O(k) steps.

The expected symbol is a linear function of the input. A linear function of the symbol is therefore
an unbiased score (Wang et al. 2019, "Collecting and analyzing multidimensional data with local
differential privacy", section III.B, lemma 1). The module `estimator.likelihood.histogram`
estimates the histogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from client_sdk.protocol.mechanisms.square_wave import SquareWave
from estimator.decoders.decoder import REMEMBERED, Decoder
from estimator.statistics.arrays import Floats


def scores(channel: SquareWave) -> list[Fraction]:
    """Return the exact unbiased score of each symbol. The first input is 0, and the last is 1.

    Given an input x, the expected score is x / (inputs - 1). A single score may lie far outside
    0..1.
    """
    numerators, denominator = _parts(channel)
    return [Fraction(numerator, denominator) for numerator in numerators]


def float_scores(channel: SquareWave) -> Floats:
    """Return `scores` as the nearest floats. Each score is rounded only once."""
    numerators, denominator = _parts(channel)
    return np.array([numerator / denominator for numerator in numerators])


def _parts(channel: SquareWave) -> tuple[list[int], int]:
    """Return the numerators of the scores, and their common denominator."""
    surplus, twice_total = channel.heavy - channel.light, 2 * channel.total
    twice_offset = surplus * channel.width * (channel.width - 1) + channel.light * channel.symbols * (
        channel.symbols - 1
    )
    twice_slope = 2 * surplus * channel.width * (channel.inputs - 1)
    return [twice_total * symbol - twice_offset for symbol in range(channel.symbols)], twice_slope


@lru_cache(maxsize=REMEMBERED)
def decoder(channel: SquareWave) -> Decoder:
    """Return the scores of the symbols, and the expected squares of the scores."""
    of_symbols = float_scores(channel)
    return Decoder(of_symbols, expectations(channel, of_symbols**2))


def expectations(channel: SquareWave, values: Floats) -> Floats:
    """Return the expected value for each input, shape (..., inputs)."""
    sums = _sums(values)
    expected: Floats = sums[..., channel.width :] - sums[..., : channel.inputs]
    expected *= channel.heavy - channel.light
    expected += channel.light * sums[..., -1:]
    expected /= channel.total
    return expected


def symbol_law(channel: SquareWave, shares: Floats) -> Floats:
    """Return the probability of each symbol, shape (..., symbols)."""
    sums = _sums(shares)
    law = np.empty((*shares.shape[:-1], channel.symbols))
    law[..., : channel.inputs] = sums[..., 1:]
    law[..., channel.inputs :] = sums[..., -1:]
    law[..., channel.width :] -= sums[..., 1:-1]  # a symbol does not support inputs too far below it
    law *= channel.heavy - channel.light
    law += channel.light
    law /= channel.total
    return law


def _sums(values: Floats) -> Floats:
    """Return the cumulative sums of the values, beginning with 0, shape (..., values + 1)."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


@dataclass(frozen=True, slots=True)
class SquareWaveLaw:
    """The distribution of a square wave, computed in O(symbols) steps."""

    channel: SquareWave

    def symbol_law(self, shares: Floats) -> Floats:
        """Return the probability of each symbol."""
        return symbol_law(self.channel, shares)

    def expectations(self, scores: Floats, /) -> Floats:
        """Return the expected score of a symbol given each input."""
        return expectations(self.channel, scores)


def extreme(channel: SquareWave) -> float:
    """Return the largest probability, over all pairs of answers, of a privacy loss of epsilon."""
    return min(channel.width, channel.inputs - 1) * channel.heavy / channel.total
